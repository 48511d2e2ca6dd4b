"""Trying a lorebook on a text or in a conversation: which entries are activated, and why the others are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from anyio import to_thread

from tavernkit import LoreVerdict
from tavernkit.lore import Book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Lorebook
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.lorebooks.entry_fields import decode_entry
from tavernkit.playground.story.lorebooks.queries import decoded_book, usable_lorebook
from tavernkit.playground.story.previews.service import lore_in_conversation
from tavernkit.prompt.tokens import default_estimator
from tavernkit.sillytavern.scene import shared_world_info
from tavernkit.sillytavern.world_info.result import WorldInfoVerdict
from tavernkit.sillytavern.world_info.trial import run_test
from tavernkit.values import JsonObject, Value

TEST_CONTEXT = 8192
NEW = "new"
"""The uid of an entry that is yet to be created, among those that are tried."""


class Draft(Value, frozen=True, kw_only=True):
    """An entry as it stands in a form: the number that it has in its book, none for a new one, and its fields."""

    uid: int | None
    data: JsonObject

    @property
    def entry_id(self) -> str:
        return NEW if self.uid is None else str(self.uid)


class TestedEntry(Value, frozen=True, kw_only=True):
    """An entry and what became of it; one that is near has missed by little."""

    __test__ = False

    uid: str
    name: str
    why: str
    tokens: int = 0
    is_near: bool = False


class BookTest(Value, frozen=True, kw_only=True):
    """What became of the entries of a book; `budget` is None where the story's own applies."""

    __test__ = False

    book: Lorebook
    fired: tuple[TestedEntry, ...] = ()
    silent: tuple[TestedEntry, ...] = ()
    budget: int | None = None
    warnings: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(one.tokens for one in self.fired)


async def run_book_test(
    runtime: Runtime,
    viewer: Viewer,
    lorebook_id: UUID,
    *,
    text: str = "",
    conversation_id: UUID | None = None,
    draft: Draft | None = None,
    why: Callable[[WorldInfoVerdict], str] = str,
) -> BookTest:
    """What becomes of the entries of a book with a text as the newest message, or with the next reply of a
    conversation; `why` writes the sentences of the former. Nothing is stored."""
    async with runtime.database.read() as session:
        row = await usable_lorebook(session, viewer, lorebook_id)
        book = _with_draft(await decoded_book(session, row), draft)
    if conversation_id is None:
        return await to_thread.run_sync(_on_text, row, book, text, why)
    return _in_conversation(row, book, await lore_in_conversation(runtime, viewer, conversation_id, book))


def _with_draft(book: Book, draft: Draft | None) -> Book:
    if draft is None:
        return book
    entry = decode_entry({**draft.data, "uid": draft.entry_id})[0]
    if draft.uid is None:
        return book.with_(entries=(*book.entries, entry))
    return book.with_(entries=tuple(entry if one.id == entry.id else one for one in book.entries))


def _on_text(row: Lorebook, book: Book, text: str, why: Callable[[WorldInfoVerdict], str]) -> BookTest:
    near: set[str] = set()

    def explain(verdict: WorldInfoVerdict) -> str:
        if verdict.near_miss is not None or verdict.reason not in ("no_key", "no_keys"):
            near.add(verdict.entry.id)
        return why(verdict)

    test = run_test([book], text, context=TEST_CONTEXT, seed=0, why=explain, engine=shared_world_info())
    return BookTest(
        book=row,
        fired=tuple(TestedEntry(uid=one.id, name=one.name, why=one.why, tokens=one.tokens) for one in test.fired),
        silent=_near_first(
            [TestedEntry(uid=one.id, name=one.name, why=one.why, is_near=one.id in near) for one in test.silent]
        ),
        budget=test.budget,
        warnings=tuple(map(storable, test.warnings)),
    )


def _in_conversation(row: Lorebook, book: Book, verdicts: Sequence[LoreVerdict]) -> BookTest:
    """RisuAI numbers entries in its own way, so that they are known by their names there."""
    numbers = {entry.id for entry in book.entries}
    names = {entry.name or entry.comment or ", ".join(entry.keys): entry.id for entry in book.entries}
    tested = [
        TestedEntry(
            uid=one.entry if one.entry in numbers else names.get(one.name, ""),
            name=one.name,
            why=storable(one.sentence),
            tokens=default_estimator().estimate(one.content) if one.is_activated else 0,
            is_near=True,
        )
        for one in verdicts
    ]
    told = {one.uid for one in tested}
    others = [
        TestedEntry(
            uid=entry.id,
            name=entry.name or entry.comment or ", ".join(entry.keys[:3]),
            why=_("no key found") if entry.enabled else _("disabled"),
        )
        for entry in book.entries
        if entry.id not in told
    ]
    pairs = list(zip(tested, verdicts, strict=True))
    return BookTest(
        book=row,
        fired=tuple(one for one, verdict in pairs if verdict.is_activated),
        silent=(*(one for one, verdict in pairs if not verdict.is_activated), *others),
    )


def _near_first(entries: Sequence[TestedEntry]) -> tuple[TestedEntry, ...]:
    return tuple(sorted(entries, key=lambda one: not one.is_near))
