"""The facts that a prompt was built from, in few characters, as a comparison of two prompts needs them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from tavernkit.characters.character import Character, User
from tavernkit.prompt.context import Context
from tavernkit.prompt.reasons import EntryCount, ExplainedEntry, FactGroup, LoreCause, NearMiss
from tavernkit.values import Json, JsonObject, Value

MOST_ENTRIES = 500
"""Of how many lore entries it is said what became of them."""

MOST_VARIABLES = 200
LONGEST_VALUE = 60

CARD_FIELDS = (
    *("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt"),
    "post_history_instructions",
)


def mark_of(*texts: Json) -> str:
    """A short text that is another one when one of these is; nothing for empty texts."""
    if not any(texts):
        return ""
    written = "\0".join(map(str, texts)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(written, digest_size=5).hexdigest()


def shown(value: Json) -> str:
    """A value as people read it; a long one is cut, and has its mark."""
    match value:
        case str():
            text = str(value)
        case bool():
            text = "on" if value else "off"
        case int() | float() | None:
            text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        case _:
            text = json.dumps(msgspec.to_builtins(value, enc_hook=str), ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 12]}… ({mark_of(text)})"


def simple_fields(value: Value, *, without: Iterable[str] = ()) -> dict[str, str]:
    """The fields of a value that are not values themselves, without empty ones."""
    fields = {
        name: shown(getattr(value, name))
        for name in value.__struct_fields__
        if name not in without and isinstance(getattr(value, name), str | bool | int | float)
    }
    return {name: text for name, text in fields.items() if text}


def common_facts(ctx: Context, platform: str, completion: str) -> list[FactGroup]:
    """What every build depends on: who speaks with whom, for which model, with how much room, and for what."""
    preset = ctx.preset
    return [
        FactGroup(
            kind="build",
            values={
                "platform": platform,
                "completion": completion,
                "generation": ctx.generation_type,
                "model": ctx.model or "",
                "character": "" if ctx.character is None else str(ctx.character.name),
                "user": "" if ctx.user is None else str(ctx.user.name),
            },
        ),
        FactGroup(
            kind="setting",
            values={
                "context size": str(preset.context_window_tokens),
                "reply size": str(preset.reserved_response_tokens),
            },
        ),
        FactGroup(kind="history", values={"messages": str(len(ctx.history) + bool(ctx.message))}),
    ]


def card_facts(*cards: Character) -> list[FactGroup]:
    """The versions and the fields of cards."""
    fields = {
        f"{card.name}.{name}": mark
        for card in cards
        for name, mark in [
            *((name, mark_of(getattr(card, name))) for name in CARD_FIELDS),
            ("depth_prompt", mark_of(_depth_prompt(card))),
        ]
        if mark
    }
    versions = {str(card.name): str(card.character_version) for card in cards}
    return [FactGroup(kind="card", values=versions), FactGroup(kind="card_field", values=fields)]


def _depth_prompt(card: Character) -> Json:
    note = card.extensions.get("depth_prompt")
    return note.get("prompt") if isinstance(note, Mapping) else ""


def persona_facts(user: User | None, place: str = "") -> list[FactGroup]:
    """What the user says of themselves, and where it stands."""
    values = {"text": "" if user is None else mark_of(user.persona), "place": place}
    return [FactGroup(kind="persona", values={name: value for name, value in values.items() if value})]


def variable_facts(variables: Mapping[str, JsonObject]) -> list[FactGroup]:
    """The variables of a story; of very many, the first by name."""
    known = {
        f"{scope}.{name}": shown(value)
        for scope, values in sorted(variables.items())
        for name, value in sorted(values.items())
    }
    return [FactGroup(kind="variable", values=dict(list(known.items())[:MOST_VARIABLES]))]


class Verdict(Protocol):
    """What every platform knows of an entry."""

    @property
    def is_activated(self) -> bool: ...

    @property
    def near_miss(self) -> NearMiss | None: ...

    @property
    def lore_cause(self) -> LoreCause | None: ...

    @property
    def reason(self) -> str: ...


V = TypeVar("V", bound=Verdict)


def listed(
    verdicts: Sequence[V], explain: Callable[[V], ExplainedEntry]
) -> tuple[list[ExplainedEntry], list[EntryCount]]:
    """As many entries as are listed, in their order, activated ones and near misses before others; and how many others
    there are."""
    if len(verdicts) <= MOST_ENTRIES:
        return [explain(verdict) for verdict in verdicts], []
    ranks = [_rank(verdict) for verdict in verdicts]
    chosen = set(sorted(range(len(verdicts)), key=ranks.__getitem__)[:MOST_ENTRIES])
    left = Counter(str(verdict.reason) for place, verdict in enumerate(verdicts) if place not in chosen)
    counts = msgspec.convert([{"reason": reason, "count": left[reason]} for reason in sorted(left)], list[EntryCount])
    return [explain(verdict) for place, verdict in enumerate(verdicts) if place in chosen], counts


def _rank(verdict: Verdict) -> int:
    if verdict.is_activated:
        return 0
    return 1 if verdict.near_miss is not None or verdict.lore_cause is not None else 2
