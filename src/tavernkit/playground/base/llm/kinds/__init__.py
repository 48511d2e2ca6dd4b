"""The kinds of providers, one module each; a kind that is added here is known to the API, the pages and the prompts."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.kinds.anthropic import ANTHROPIC
from tavernkit.playground.base.llm.kinds.embedded import EMBEDDED
from tavernkit.playground.base.llm.kinds.google import GOOGLE
from tavernkit.playground.base.llm.kinds.kind import ProviderKind
from tavernkit.playground.base.llm.kinds.openai import OPENAI, OPENAI_TEXT

__all__ = ["PROVIDER_KINDS", "ProviderKind", "kind_of"]

PROVIDER_KINDS: Mapping[str, ProviderKind] = {
    kind.id: kind for kind in (OPENAI, OPENAI_TEXT, ANTHROPIC, GOOGLE, EMBEDDED)
}
"""In the order of the form."""


def kind_of(provider: Provider) -> ProviderKind:
    return PROVIDER_KINDS[provider.kind]
