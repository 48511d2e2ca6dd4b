"""What the pages about lorebooks show, and the form of an entry: fields as texts in boxes, and back into World Info.

Only what was changed is written, so that a field that the form shows in its own way stays as its file wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from anyio import to_thread
from pydantic import BaseModel, ConfigDict

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Lorebook, LorebookEntry
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_name, behind_number, cursor
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.edge.web.forms import as_lines, one_newline, whole_number
from tavernkit.playground.story.lorebooks.entry_fields import decode_book
from tavernkit.playground.story.lorebooks.queries import all_entries, entries_page, lorebook_of, lorebooks_page
from tavernkit.prompt.tokens import default_estimator
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern.world_info.fields import Logic, Source
from tavernkit.sillytavern.world_info.matching import WorldInfoPlace
from tavernkit.sillytavern.world_info.result import NearMiss, WorldInfoVerdict
from tavernkit.sillytavern.world_info.trial import LoreTest, run_test
from tavernkit.values import Json, JsonObject, Value

BOOKS_PER_PAGE = 100
ENTRIES_PER_PAGE = 100
TEST_CONTEXT = 8192
NAMELESS = _("Unnamed")

POSITIONS: Final = {
    "0": _("Before character"),
    "1": _("After character"),
    "2": _("Before author's note"),
    "3": _("After author's note"),
    "4": _("At depth"),
    "5": _("Before examples"),
    "6": _("After examples"),
    "7": _("Outlet"),
}
LOGICS: Final = {
    "0": _("AND ANY (one of them is found)"),
    "3": _("AND ALL (all of them are found)"),
    "1": _("NOT ALL (one of them is missing)"),
    "2": _("NOT ANY (none of them is found)"),
}
ROLES: Final = {"0": _("System"), "1": _("User"), "2": _("Assistant")}


class EntryForm(BaseModel):
    """The boxes as they stand; a box with a tick says `on`."""

    model_config = ConfigDict(frozen=True)

    comment: str = ""
    keys: str = ""
    secondary_keys: str = ""
    logic: str = "0"
    content: str = ""
    constant: str = ""
    enabled: str = ""
    position: str = "0"
    depth: str = "4"
    role: str = "0"
    outlet: str = ""
    order: str = "100"
    probability: str = "100"
    sticky: str = ""
    cooldown: str = ""
    delay: str = ""
    exclude_recursion: str = ""
    prevent_recursion: str = ""
    delay_until_recursion: str = "0"

    def tidy(self) -> EntryForm:
        """The same with line breaks as they are stored."""
        return EntryForm(**{name: one_newline(value) for name, value in self})


class EntryRow(Value, frozen=True, kw_only=True):
    """An entry in the table."""

    row: LorebookEntry
    name: str
    keys: tuple[str, ...]
    place: str
    order: str
    tokens: int


class LorebookView(Value, frozen=True, kw_only=True):
    """A book with a page of its entries. `tokens` is known when all of them are on the page."""

    book: Lorebook
    entries: tuple[EntryRow, ...]
    search: str
    is_first: bool
    next: str | None
    tokens: int | None


class LoreTestView(Value, frozen=True, kw_only=True):
    """A text that was tried out on a book, what came of it, and where its entries are."""

    text: str
    test: LoreTest | None = None
    addresses: Mapping[str, str] = {}


async def lorebooks_view(runtime: Runtime, viewer: Viewer, after: str | None = None) -> Mapping[str, object]:
    """A page of the person's books."""
    async with runtime.database.read() as session:
        rows = await lorebooks_page(session, viewer, behind=behind_name(after), limit=BOOKS_PER_PAGE + 1)
    shown = rows[:BOOKS_PER_PAGE]
    return {
        "books": shown,
        "is_first": after is None,
        "next": cursor(shown[-1].name, str(shown[-1].id)) if len(rows) > BOOKS_PER_PAGE else None,
    }


async def lorebook_view(
    runtime: Runtime, viewer: Viewer, lorebook_id: UUID, *, after: str | None = None, search: str = ""
) -> LorebookView:
    """A book and a page of its entries."""
    search = search.replace("\x00", "").strip()
    async with runtime.database.read() as session:
        book = await lorebook_of(session, viewer, lorebook_id)
        rows = await entries_page(
            session, book.id, behind=behind_number(after), limit=ENTRIES_PER_PAGE + 1, search=search
        )
    shown = rows[:ENTRIES_PER_PAGE]
    entries = await to_thread.run_sync(lambda: tuple(map(entry_row, shown)))
    is_whole = after is None and not search and len(rows) <= ENTRIES_PER_PAGE
    return LorebookView(
        book=book,
        entries=entries,
        search=search,
        is_first=after is None,
        next=cursor(shown[-1].position) if len(rows) > ENTRIES_PER_PAGE else None,
        tokens=sum(entry.tokens for entry in entries) if is_whole else None,
    )


def entry_row(row: LorebookEntry) -> EntryRow:
    """An entry for the table; the tokens of its text are estimated."""
    form = entry_form(row.data)
    keys = [key for key in form.keys.split("\n") if key]
    return EntryRow(
        row=row,
        name=_named(row.comment or ", ".join(keys[:3])),
        keys=tuple(keys),
        place=_place(form),
        order=form.order,
        tokens=default_estimator().estimate(form.content),
    )


async def lore_test_view(runtime: Runtime, viewer: Viewer, lorebook_id: UUID, text: str) -> LoreTestView:
    """Which entries of a book a text wakes up, and why the others stay silent."""
    async with runtime.database.read() as session:
        book = await lorebook_of(session, viewer, lorebook_id)
        if not text.strip():
            return LoreTestView(text=text)
        rows = await all_entries(session, book.id)
    return await to_thread.run_sync(_lore_test, book, rows, text)


def entry_form(data: JsonObject) -> EntryForm:
    """An entry as the boxes show it."""
    entry = LooseObject({storable(key): presentable(value) for key, value in data.items()}, ReportBuilder())
    return EntryForm(**{name: box.read(entry) for name, box in _BOXES.items()}).tidy()


def changed_fields(before: EntryForm, after: EntryForm) -> dict[str, Json]:
    """The World Info fields of the boxes that were changed."""
    after = after.tidy()
    fields: dict[str, Json] = {}
    for name, box in _BOXES.items():
        value = getattr(after, name)
        if value != getattr(before, name):
            fields |= box.write(value)
    return fields


def differences(mine: EntryForm, theirs: EntryForm) -> tuple[tuple[str, str], ...]:
    """The fields in which what is there now is not what somebody wants to save: what they are called, what is there."""
    named = {"logic": LOGICS, "position": POSITIONS, "role": ROLES}
    return tuple(
        (LABELS[name], named.get(name, {}).get(now, _said(name, now)))
        for name, now in theirs.tidy()
        if now != getattr(mine.tidy(), name)
    )


def _lore_test(book: Lorebook, rows: Sequence[LorebookEntry], text: str) -> LoreTestView:
    decoded = decode_book(book.data, [row.data for row in rows], name=book.name)
    stored = {entry.id: row for entry, row in zip(decoded.entries, rows, strict=True)}
    test = run_test([decoded], text, context=TEST_CONTEXT, seed=0, why=verdict_sentence)
    # First those that came near, then those whose keys are simply not there.
    silent = sorted(test.silent, key=lambda one: one.reason in ("no_key", "no_keys"))
    shown = test.with_(
        fired=tuple(
            one.with_(name=_named(one.name), position=_place(entry_form(stored[one.id].data))) for one in test.fired
        ),
        silent=tuple(one.with_(name=_named(one.name)) for one in silent),
    )
    addresses = {id: f"/lorebooks/{book.id}/entries/{row.id}" for id, row in stored.items()}
    return LoreTestView(text=text, test=shown, addresses=addresses)


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
    return _("“{key}” is part of a longer word", key=storable(near_miss.key))


def _named(name: str) -> str:
    text = storable(name)
    return shown_name(text) if text.strip() else NAMELESS


def _place(form: EntryForm) -> str:
    if form.position == "4":
        return _("Depth {depth}", depth=form.depth)
    return POSITIONS.get(form.position, _("Position {number}", number=form.position))


def _said(name: str, value: str) -> str:
    if name in ("constant", "enabled", "exclude_recursion", "prevent_recursion"):
        return _("Yes") if value else _("No")
    return value or _("Empty")


class _Box(NamedTuple):
    """A box: what the page calls it, what it shows of an entry, and which fields of the entry its text stands for."""

    label: str
    read: Callable[[LooseObject], str]
    write: Callable[[str], Mapping[str, Json]]


def _text(label: str, field: str) -> _Box:
    return _Box(label, lambda entry: entry.text(field), lambda text: {field: text})


def _tick(label: str, field: str, *, when: bool = True) -> _Box:
    """A box with a tick where the field is as `when` says."""
    return _Box(
        label,
        lambda entry: "on" if entry.flag(field) == when else "",
        lambda text: {field: bool(text) == when},
    )


def _number(label: str, field: str, *, least: int = 0, most: int, default: int) -> _Box:
    return _Box(
        label,
        lambda entry: str(entry.integer(field, default=default)),
        lambda text: {field: whole_number(text, name=label, least=least, most=most)},
    )


def _messages(label: str, field: str) -> _Box:
    """A number of messages; none is an empty box."""
    return _Box(
        label,
        lambda entry: str(entry.optional_integer(field) or ""),
        lambda text: {field: whole_number(text or "0", name=label, least=0, most=1_000_000) or None},
    )


def _choice(label: str, field: str, choices: Mapping[str, str], *, default: int = 0) -> _Box:
    def write(text: str) -> Mapping[str, Json]:
        if text in choices:
            return {field: int(text)}
        raise Refused("invalid", _("Choose a value of “{label}” from the list.", label=label))

    return _Box(label, lambda entry: str(entry.integer(field, default=default)), write)


def _secondary(text: str) -> dict[str, Json]:
    keys = as_lines(text)
    # SillyTavern looks at them only where this is set.
    return {"keysecondary": keys, "selective": True} if keys else {"keysecondary": keys}


def _round(entry: LooseObject) -> str:
    """Which round of recursion the entry waits for; older files say only that it waits."""
    value = entry.raw("delayUntilRecursion")
    return str(int(value)) if isinstance(value, bool) else str(entry.integer("delayUntilRecursion"))


_BOXES: Final[Mapping[str, _Box]] = {
    "comment": _text(_("Title"), "comment")._replace(write=lambda text: {"comment": text, "addMemo": bool(text)}),
    "keys": _Box(_("Primary keys"), lambda entry: "\n".join(entry.texts("key")), lambda text: {"key": as_lines(text)}),
    "secondary_keys": _Box(_("Secondary keys"), lambda entry: "\n".join(entry.texts("keysecondary")), _secondary),
    "logic": _choice(_("Logic"), "selectiveLogic", LOGICS),
    "content": _text(_("Content"), "content"),
    "constant": _tick(_("Constant"), "constant"),
    "enabled": _tick(_("Enabled"), "disable", when=False),
    # As the library reads it: an entry that says nothing stands behind the character.
    "position": _choice(_("Position"), "position", POSITIONS, default=1),
    "depth": _number(_("Depth"), "depth", most=10_000, default=4),
    "role": _choice(_("Role at depth"), "role", ROLES),
    "outlet": _text(_("Outlet name"), "outletName")._replace(write=lambda text: {"outletName": text.strip()}),
    "order": _number(_("Order"), "order", least=-1_000_000, most=1_000_000, default=100),
    "probability": _Box(
        _("Probability (%)"),
        lambda entry: f"{entry.number('probability', default=100):g}",
        lambda text: {
            "probability": whole_number(text, name=_("Probability (%)"), least=0, most=100),
            "useProbability": True,
        },
    ),
    "sticky": _messages(_("Sticky (messages)"), "sticky"),
    "cooldown": _messages(_("Cooldown (messages)"), "cooldown"),
    "delay": _messages(_("Delay (messages)"), "delay"),
    "exclude_recursion": _tick(_("Non-recursable"), "excludeRecursion"),
    "prevent_recursion": _tick(_("Prevent further recursion"), "preventRecursion"),
    "delay_until_recursion": _number(
        _("Delay until recursion level"), "delayUntilRecursion", most=1000, default=0
    )._replace(read=_round),
}
LABELS: Final = {name: box.label for name, box in _BOXES.items()}
"""What the page calls the fields."""
