"""The kinds of providers, one module each; a kind that is added here is known to the API, the pages and the prompts."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.kinds.anthropic import ANTHROPIC
from tavernkit.playground.base.llm.kinds.embedded import EMBEDDED
from tavernkit.playground.base.llm.kinds.google import GOOGLE
from tavernkit.playground.base.llm.kinds.kind import ProviderKind
from tavernkit.playground.base.llm.kinds.openai import OPENAI, OPENAI_TEXT
from tavernkit.values import Json

__all__ = ["DIALECT", "PROVIDER_KINDS", "ProviderKind", "dialect_of", "kind_of", "request_fields"]

PROVIDER_KINDS: Mapping[str, ProviderKind] = {
    kind.id: kind for kind in (OPENAI, OPENAI_TEXT, ANTHROPIC, GOOGLE, EMBEDDED)
}
"""In the order of the form."""


def kind_of(provider: Provider) -> ProviderKind:
    return PROVIDER_KINDS[provider.kind]


DIALECT = "dialect"
"""The one among a provider's settings that is no field of its requests, but says how prompts are written in them."""


def dialect_of(provider: Provider) -> str:
    """The dialect of its prompts: the one that its settings name, or else that of its kind."""
    return str(provider.settings.get(DIALECT) or kind_of(provider).dialect)


def request_fields(provider: Provider) -> dict[str, Json]:
    """Further fields of every request to it."""
    return {name: value for name, value in provider.settings.items() if name != DIALECT}
