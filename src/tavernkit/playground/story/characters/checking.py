"""A card while it is written: how many tokens its fields take for a model, and what its author may want to look at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.card_lint import CardHint, LintCode, lint_card
from tavernkit.characters import Character
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.providers.queries import default_provider
from tavernkit.playground.story.providers.tokenizers import estimator_for
from tavernkit.prompt.tokens import TokenEstimator, default_estimator
from tavernkit.values import Value

IN_EVERY_PROMPT = ("description", "personality", "scenario", "system_prompt", "post_history_instructions")
COUNTED = (*IN_EVERY_PROMPT, "first_mes", "mes_example", "creator_notes")
LISTS = ("alternate_greetings", "group_only_greetings")
DEPTH_PROMPT = "extensions.depth_prompt.prompt"


class CardCheck(Value, frozen=True, kw_only=True):
    """Tokens by the path of each field, such as `alternate_greetings[0]`.

    `permanent` are those of every prompt; `total` has the first message and the example messages as well.
    """

    counts: dict[str, int]
    permanent: int
    total: int
    hints: tuple[CardHint, ...]


def hint_sentence(hint: CardHint) -> str:
    """What a page says about it."""
    sentences: dict[LintCode, str] = {
        "unknown_macro": _("Unknown macro: {value}", value=hint.value),
        "macro_syntax": _("Macro with an error: {value}", value=hint.value),
        "never_matches": _("Entry without keys: it is never activated."),
        "bad_pattern": _("Not a valid regular expression: {value}", value=hint.value),
        "empty_greeting": _("Empty: stories begin without a greeting."),
        "name_spelt_out": _("“{value}” is written out. Use {macro} instead.", value=hint.value, macro="{{char}}"),
    }
    return translated(sentences[hint.code])


async def check_card(runtime: Runtime, character: Character, *, provider_id: UUID | None = None) -> CardCheck:
    """Count as a provider's model does, or as the default one's, and look for what was probably not meant."""
    async with runtime.database.read() as session:
        model, estimator = await _counting(session, provider_id)
    return await asyncio.to_thread(_checked, character, model, estimator)


async def counting_providers(session: AsyncSession) -> list[Provider]:
    """Those whose models one can count for, the default one first."""
    found = await session.scalars(
        select(Provider).where(~Provider.disabled).order_by(Provider.is_default.desc(), Provider.name).limit(100)
    )
    return list(found)


async def _counting(session: AsyncSession, provider_id: UUID | None) -> tuple[str, TokenEstimator]:
    if provider_id is None:
        provider = await default_provider(session)
        if provider is None:
            return "", default_estimator()
    else:
        wanted = select(Provider).where(Provider.id == provider_id, ~Provider.disabled)
        provider = existing(await session.scalar(wanted), _("provider"))
    return provider.model, await estimator_for(session, provider)


def _checked(character: Character, model: str, estimator: TokenEstimator) -> CardCheck:
    counts = {path: estimator.estimate(text, model) if text else 0 for path, text in _texts(character)}
    permanent = sum(counts[path] for path in (*IN_EVERY_PROMPT, DEPTH_PROMPT))
    total = permanent + counts["first_mes"] + counts["mes_example"]
    return CardCheck(counts=counts, permanent=permanent, total=total, hints=lint_card(character))


def _texts(character: Character) -> Iterator[tuple[str, str]]:
    yield from ((field, getattr(character, field)) for field in COUNTED)
    for field in LISTS:
        yield from ((f"{field}[{place}]", text) for place, text in enumerate(getattr(character, field)))
    prompt = character.extensions.get("depth_prompt")
    text = prompt.get("prompt") if isinstance(prompt, dict) else ""
    yield DEPTH_PROMPT, text if isinstance(text, str) else ""
