"""What pages show of a lorebook that is tried on a text or in a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, LorebookEntry, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.presenting.lore_entry import entry_form, entry_name, place_of
from tavernkit.playground.edge.presenting.panel import ChoiceView, trail_title
from tavernkit.playground.story.lorebooks.queries import usable_lorebook
from tavernkit.playground.story.previews.lore_tests import BookTest, Draft, TestedEntry, run_book_test
from tavernkit.prompt.reasons import NearMiss
from tavernkit.sillytavern.world_info.fields import Logic, Source
from tavernkit.sillytavern.world_info.matching import WorldInfoPlace
from tavernkit.sillytavern.world_info.result import WorldInfoVerdict
from tavernkit.values import Value

SHOWN = 200
CONVERSATIONS = 50


class TestedRow(Value, frozen=True, kw_only=True):
    """An entry and what became of it; `is_edited` is the one in the form, as it stands there."""

    __test__ = False

    name: str
    why: str
    place: str = ""
    tokens: int = 0
    address: str = ""
    is_edited: bool = False


class LoreTestView(Value, frozen=True, kw_only=True):
    """A text or a conversation that a book was tried on, and what came of it.

    `silent` are the first of the entries that were not activated, those that came near in front; there are `others`
    more. `budget` is None where the story's own applies.
    """

    text: str = ""
    conversation_id: UUID | None = None
    is_done: bool = False
    fired: tuple[TestedRow, ...] = ()
    silent: tuple[TestedRow, ...] = ()
    others: int = 0
    tokens: int = 0
    budget: int | None = None
    warnings: tuple[str, ...] = ()


async def conversations_to_test(runtime: Runtime, viewer: Viewer) -> tuple[ChoiceView, ...]:
    """The newest conversations that the viewer takes part in."""
    query = (
        select(Conversation, Space.name)
        .join(Space, Space.id == Conversation.space_id)
        .join(SpaceMembership, SpaceMembership.space_id == Space.id)
        .where(
            SpaceMembership.user_id == viewer.user_id,
            SpaceMembership.status == "active",
            Space.status == "active",
            Conversation.status == "ready",
        )
        .order_by(Conversation.updated_at.desc(), Conversation.id)
        .limit(CONVERSATIONS)
    )
    async with runtime.database.read() as session:
        rows = (await session.execute(query)).all()
    return tuple(
        ChoiceView(value=str(conversation.id), label=trail_title(name, conversation.name))
        for conversation, name in rows
    )


async def lore_test_view(
    runtime: Runtime,
    viewer: Viewer,
    lorebook_id: UUID,
    *,
    text: str = "",
    conversation_id: UUID | None = None,
    draft: Draft | None = None,
) -> LoreTestView:
    """What becomes of the entries of a book; nothing is tried where there is neither text nor conversation."""
    if conversation_id is None and not text.strip():
        async with runtime.database.read() as session:
            await usable_lorebook(session, viewer, lorebook_id)
        return LoreTestView(text=text)
    test = await run_book_test(
        runtime,
        viewer,
        lorebook_id,
        text=text,
        conversation_id=conversation_id,
        draft=draft,
        why=verdict_sentence,
    )
    edited = "" if draft is None else draft.entry_id
    silent = sorted(test.silent, key=lambda one: one.uid != edited)[:SHOWN]
    rows = await _stored(runtime, test, silent)

    def shown(one: TestedEntry, *, has_place: bool) -> TestedRow:
        row, is_edited = rows.get(one.uid), one.uid == edited
        data = draft.data if draft is not None and is_edited else {} if row is None else row.data
        return TestedRow(
            name=entry_name(one.name, ()),
            why=one.why,
            tokens=one.tokens,
            place=place_of(entry_form(data)) if has_place else "",
            address="" if row is None else f"/lorebooks/{test.book.id}/entries/{row.id}",
            is_edited=is_edited,
        )

    return LoreTestView(
        text=text,
        conversation_id=conversation_id,
        is_done=True,
        fired=tuple(shown(one, has_place=True) for one in test.fired),
        silent=tuple(shown(one, has_place=False) for one in silent),
        others=len(test.silent) - len(silent),
        tokens=test.tokens,
        budget=test.budget,
        warnings=test.warnings,
    )


async def _stored(runtime: Runtime, test: BookTest, silent: list[TestedEntry]) -> dict[str, LorebookEntry]:
    uids = {int(one.uid) for one in (*test.fired, *silent) if one.uid.isascii() and one.uid.isdigit()}
    query = select(LorebookEntry).where(LorebookEntry.lorebook_id == test.book.id, LorebookEntry.uid.in_(uids))
    async with runtime.database.read() as session:
        return {str(row.uid): row for row in await session.scalars(query)}


def verdict_sentence(verdict: WorldInfoVerdict) -> str:
    """Why an entry was activated, or why not."""
    key, where = storable(verdict.key or ""), _where(verdict.place)
    match verdict.reason:
        case "activated" if verdict.cause == "key":
            return _("key “{key}” found {where}", key=key, where=where)
        case "activated":
            return _CAUSES.get(verdict.cause or "", _("activated by an extension"))
        case "no_key" if verdict.near_miss is not None:
            return _("no key found; {near_miss}", near_miss=_near_miss(verdict.near_miss))
        case "regex_timeout":
            return _("the regular expression {key} took too long and was skipped", key=key)
        case "secondary_logic":
            condition = _CONDITIONS.get(verdict.logic or 0, _("unknown logic"))
            return _("key “{key}” found {where}, but {condition}", key=key, where=where, condition=condition)
        case "group_lost" if verdict.lost_to:
            winner = storable(verdict.lost_to)
            return _("inclusion group “{group}” chose {entry}", group=storable(verdict.group or ""), entry=winner)
        case "group_lost":
            return _("inclusion group “{group}” chose another entry", group=storable(verdict.group or ""))
        case "probability":
            return _("rolled {roll}, above its probability", roll=round(verdict.roll or 0))
        case reason:
            return _REASONS[reason]


_CAUSES: Final[Mapping[str, str]] = {
    "constant": _("constant"),
    "sticky": _("sticky"),
    "decorator": "@@activate",
}
_REASONS: Final[Mapping[str, str]] = {
    "shadowed": _("another lorebook with this name is used"),
    "disabled": _("disabled"),
    "filtered_trigger": _("filtered out by generation type"),
    "filtered_character": _("filtered out by character"),
    "filtered_tag": _("filtered out by character tags"),
    "delay": _("delayed until the chat is longer"),
    "cooldown": _("on cooldown"),
    "recursion_delayed": _("delayed until a recursion level that was not reached"),
    "recursion_excluded": _("mentioned only by other entries, and non-recursable"),
    "decorator": "@@dont_activate",
    "no_keys": _("has no keys"),
    "no_key": _("no key found"),
    "budget": _("did not fit in the lore budget"),
}
_CONDITIONS: Final[Mapping[int, str]] = {
    Logic.AND_ANY: _("no secondary key was found"),
    Logic.NOT_ALL: _("all secondary keys were found"),
    Logic.NOT_ANY: _("a secondary key was found"),
    Logic.AND_ALL: _("not all secondary keys were found"),
}
_SOURCES: Final[Mapping[int, str]] = {
    Source.PERSONA_DESCRIPTION: _("in the persona description"),
    Source.CHARACTER_DESCRIPTION: _("in the character description"),
    Source.CHARACTER_PERSONALITY: _("in the character personality"),
    Source.CHARACTER_DEPTH_PROMPT: _("in the character's note"),
    Source.SCENARIO: _("in the scenario"),
    Source.CREATOR_NOTES: _("in the creator's notes"),
    Source.INJECTION: _("in an injection"),
    Source.RECURSION: _("in another entry"),
}


def _where(place: WorldInfoPlace | None) -> str:
    if place is not None and place.source is not None:
        return _SOURCES[place.source]
    return _("in the text")


def _near_miss(near_miss: NearMiss) -> str:
    if near_miss.kind == "depth":
        return _("“{key}” matches at scan depth {depth}", key=storable(near_miss.key), depth=near_miss.depth)
    if near_miss.kind == "case":
        return _("“{key}” is written in another case", key=storable(near_miss.key))
    if near_miss.kind == "recursion":
        return _("“{key}” is in another activated entry", key=storable(near_miss.key))
    return _("“{key}” is part of a longer word", key=storable(near_miss.key))
