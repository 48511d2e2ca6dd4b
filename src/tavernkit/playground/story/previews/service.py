"""Prompts that were kept, and the one that would be sent now: for that no model is asked, and nothing is written."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Literal, TypeAlias, TypeVar
from uuid import UUID

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm.attributes import set_committed_value

from tavernkit import LoreVerdict
from tavernkit.errors import TavernKitError
from tavernkit.lore import Book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Message,
    PromptSnapshot,
    Run,
    Space,
    SpaceMembership,
    User,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import (
    Access,
    SpaceAccess,
    active_members,
    character_name,
    conversation_for,
)
from tavernkit.playground.story.paths.state import end_of_path
from tavernkit.playground.story.pipelines.execution import TRIGGERS, candidates_for
from tavernkit.playground.story.prompting.building import BuiltPrompt, build_prompt
from tavernkit.playground.story.prompting.cache_meter import measured
from tavernkit.playground.story.prompting.inputs import PromptInputs, PromptTurn, inputs_for
from tavernkit.playground.story.prompting.records import REUSE, PromptDocument, document_of, fingerprint_of
from tavernkit.playground.story.prompting.stored import read_document
from tavernkit.playground.story.runs.queries import active_run
from tavernkit.playground.story.runs.speakers import choose_speakers
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.playground.story.spaces.service import begin_story
from tavernkit.prompt.parts import LoreCause
from tavernkit.values import JsonObject, Value

T = TypeVar("T")

Change: TypeAlias = Literal["same", "removed", "added"]


class LoreSource(Value, frozen=True, kw_only=True):
    """An entry of a lorebook in a block, why it is activated, and by which key."""

    book: str
    entry: str
    name: str
    cause: LoreCause | None
    key: str | None


class PromptPicture(Value, frozen=True, kw_only=True):
    """A picture in a block; its bytes are among the stored files, as long as a message has it."""

    sha256: str
    media_type: str
    bytes: int
    width: int | None
    height: int | None
    title: str
    tokens: int


class KeptBlock(Value, frozen=True, kw_only=True):
    """One block of a prompt that was sent; those of earlier versions name no lore and no pictures."""

    sha256: str
    role: str
    name: str | None
    slot: str | None
    source: JsonObject
    tokens: int
    content: str
    lore: tuple[LoreSource, ...] = ()
    pictures: tuple[PromptPicture, ...] = ()


class KeptPrompt(Value, frozen=True, kw_only=True):
    """A prompt as it was sent: its blocks, the request with all its texts, and what was left out or warned about.

    One that no run has sent has no run.
    """

    run_id: UUID | None
    blocks: tuple[KeptBlock, ...]
    request: JsonObject
    report: JsonObject
    fingerprint: str


class PromptChange(Value, frozen=True, kw_only=True):
    """One block of two prompts that are compared, in the order of both."""

    change: Change
    block: KeptBlock


async def read_prompt(runtime: Runtime, viewer: Viewer, run_id: UUID) -> KeptPrompt:
    """The prompt of a run, for members of its space: others who may read the story do not see the cards behind it."""
    async with runtime.database.read() as session:
        return await _read(session, viewer, run_id)


async def compare_prompts(runtime: Runtime, viewer: Viewer, before: UUID, after: UUID) -> tuple[PromptChange, ...]:
    """What the prompt of one run has that another's has not, block by block."""
    async with runtime.database.read() as session:
        old = await _read(session, viewer, before)
        new = await _read(session, viewer, after)
        return tuple(changed_blocks(old.blocks, new.blocks))


async def _read(session: AsyncSession, viewer: Viewer, run_id: UUID) -> KeptPrompt:
    snapshot, _conversation_id = await kept_snapshot(session, viewer, run_id)
    document = await read_document(session, snapshot)
    return prompt_of(document.with_reuse(snapshot.report), snapshot.fingerprint, run_id)


async def kept_snapshot(session: AsyncSession, viewer: Viewer, run_id: UUID) -> tuple[PromptSnapshot, UUID]:
    """The row of a prompt and its conversation, for members of its space; for others there is none."""
    row = (
        await session.execute(
            select(PromptSnapshot, Run.conversation_id)
            .join(Run, Run.id == PromptSnapshot.run_id)
            .where(PromptSnapshot.run_id == run_id)
        )
    ).one_or_none()
    if row is None:
        raise not_found(_("prompt"))
    snapshot, conversation_id = row
    try:
        _conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
    except Refused:
        raise not_found(_("prompt")) from None
    if access.member is None and access.level < Access.ADMINISTER:
        raise not_found(_("prompt"))
    return snapshot, conversation_id


def prompt_of(document: PromptDocument, fingerprint: str, run_id: UUID | None = None) -> KeptPrompt:
    """The prompt that a document is of."""
    return KeptPrompt(
        run_id=run_id,
        blocks=tuple(
            msgspec.convert({**block, "sha256": hashlib.sha256(str(block["content"]).encode()).hexdigest()}, KeptBlock)
            for block in document.blocks
        ),
        request=document.request,
        report=document.report,
        fingerprint=fingerprint,
    )


def changed_blocks(before: Sequence[KeptBlock], after: Sequence[KeptBlock]) -> Iterator[PromptChange]:
    """The blocks of two prompts, and which of them only one of the two has."""
    matcher = SequenceMatcher(a=[_key(block) for block in before], b=[_key(block) for block in after], autojunk=False)
    for kind, old, old_end, new, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield from (PromptChange(change="same", block=block) for block in after[new:new_end])
        else:
            yield from (PromptChange(change="removed", block=block) for block in before[old:old_end])
            yield from (PromptChange(change="added", block=block) for block in after[new:new_end])


def _key(block: KeptBlock) -> tuple[str, str, str | None, tuple[str, ...]]:
    return block.sha256, block.role, block.name, tuple(picture.sha256 for picture in block.pictures)


PreviewKind: TypeAlias = Literal["normal", "continue", "impersonate"]

_RUN_KINDS: Mapping[PreviewKind, str] = {"normal": "user_turn", "continue": "continue", "impersonate": "impersonate"}
# Replies are prepared by other threads than these: whoever looks, however often, keeps nobody waiting for an answer.
_building = ThreadPoolExecutor(max_workers=2, thread_name_prefix="preview")


async def preview_prompt(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    speaker_id: UUID | None = None,
    kind: PreviewKind | None = None,
) -> KeptPrompt:
    """The prompt for what this member would say next, or whoever would speak; for members of the space.

    A person is spoken for, a character speaks, unless `kind` says otherwise.
    """
    inputs = await next_inputs(runtime, viewer, conversation_id, speaker_id=speaker_id, kind=kind)
    document, fingerprint = await in_preview(lambda: _unsent(build_prompt(inputs)))
    found = await measured(runtime, conversation_id, inputs, document)
    report = {} if found is None else {REUSE: msgspec.to_builtins(found)}
    return prompt_of(document.with_reuse(report), fingerprint)


async def lore_in_conversation(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, book: Book
) -> tuple[LoreVerdict, ...]:
    """What would become of the entries of a book in the next prompt of a conversation, beside the books in use there.

    The book takes the place of the one with its name, and is used everywhere where there is none.
    """
    inputs = await next_inputs(runtime, viewer, conversation_id, kind="normal")
    books = inputs.books

    def with_it(those: tuple[Book, ...]) -> tuple[Book, ...]:
        return tuple(book if one.name == book.name else one for one in those)

    tried = books.with_(
        everywhere=with_it(books.everywhere),
        character=with_it(books.character),
        chat=with_it(books.chat),
        persona=with_it(books.persona),
    )
    if tried == books:
        tried = books.with_(everywhere=(*books.everywhere, book))
    inputs = inputs.with_(books=tried)
    verdicts = await in_preview(lambda: tuple(build_prompt(inputs).built.result.lore))
    return tuple(verdict for verdict in verdicts if verdict.book == book.name)


async def next_inputs(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    speaker_id: UUID | None = None,
    kind: PreviewKind | None = None,
) -> PromptInputs:
    """What the prompt for the next message is built from; for members of the space."""
    async with runtime.database.read() as session:
        conversation, access = await _seen(session, viewer, conversation_id)
        speaker = await speaker_at_hand(session, conversation, access, speaker_id, kind)
        kind = kind or ("normal" if speaker.kind == "character" else "impersonate")
        if (speaker.kind == "human") is not (kind == "impersonate"):
            raise Refused("invalid", _("Use `impersonate` for people, and only for people."))
        return await _inputs(session, runtime, conversation, access.space, speaker, _RUN_KINDS[kind])


async def preview_draft(
    runtime: Runtime, viewer: Viewer, draft: Character, *, conversation_id: UUID | None = None
) -> KeptPrompt:
    """The prompt for a character whose card is not saved as `draft` has it, in a conversation or in a new story.

    The new story is put together as any other, and rolled back.
    """
    if conversation_id is not None:
        return await _built(await _inputs_in_story(runtime, viewer, draft, conversation_id))
    inputs: PromptInputs | None = None
    with suppress(_NotKept):
        async with runtime.database.write() as session:
            owner = await session.get_one(User, viewer.user_id)
            opened = await begin_story(session, runtime, owner, [await session.merge(draft)])
            members = await active_members(session, opened.space.id)
            speaker = next(member for member in members if member.kind == "character")
            inputs = await _inputs(session, runtime, opened.conversation, opened.space, speaker, "user_turn")
            session.expunge_all()
            raise _NotKept
    assert inputs is not None  # noqa: S101 - nothing else is suppressed
    return await _built(inputs)


class _NotKept(Exception):  # noqa: N818 - never leaves this module
    """Ends a transaction whose rows were only needed to read them."""


async def _inputs_in_story(runtime: Runtime, viewer: Viewer, draft: Character, conversation_id: UUID) -> PromptInputs:
    async with runtime.database.read() as session:
        conversation, access = await _seen(session, viewer, conversation_id)
        members = await active_members(session, conversation.space_id)
        speaker = next((member for member in members if member.character_id == draft.id), None)
        row = None if speaker is None else await session.get(Character, draft.id)
        if speaker is None or row is None:
            raise Refused("conflict", _("The character is not in this story. Choose another one."))
        # The session gives these rows to whoever asks for them, and writes nothing.
        set_committed_value(row, "data", draft.data)
        if speaker.name_override is None:
            set_committed_value(speaker, "cached_display_name", character_name(draft))
        return await _inputs(session, runtime, conversation, access.space, speaker, "user_turn")


async def _seen(session: AsyncSession, viewer: Viewer, conversation_id: UUID) -> tuple[Conversation, SpaceAccess]:
    conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
    if access.member is None and access.level < Access.ADMINISTER:
        raise Refused("forbidden", _("Only members of the space can see prompts."))
    return conversation, access


async def _inputs(
    session: AsyncSession,
    runtime: Runtime,
    conversation: Conversation,
    space: Space,
    speaker: SpaceMembership,
    kind: str,
) -> PromptInputs:
    turn = PromptTurn(conversation=conversation, space=space, speaker=speaker, kind=kind, seed=_seed(conversation))
    try:
        inputs = await inputs_for(session, turn, runtime.clock())
        if turn.kind in TRIGGERS:
            inputs = inputs.with_(candidates=await candidates_for(session, inputs, conversation.id, speaker))
    except TavernKitError as error:
        raise _impossible(error) from error
    return inputs


async def _built(inputs: PromptInputs) -> KeptPrompt:
    return await in_preview(lambda: unsent_prompt(build_prompt(inputs)))


def unsent_prompt(prompt: BuiltPrompt, run_id: UUID | None = None) -> KeptPrompt:
    """A prompt that no model was sent, as people may see it; without the times of its stages: whoever looks twice sees
    the same."""
    return prompt_of(*_unsent(prompt), run_id)


def _unsent(prompt: BuiltPrompt) -> tuple[PromptDocument, str]:
    return document_of(prompt.with_(stages=())), fingerprint_of(prompt)


async def in_preview(build: Callable[[], T]) -> T:
    """Have a thread build something that nobody waits for but who looks at it."""
    try:
        return await asyncio.get_running_loop().run_in_executor(_building, build)
    except TavernKitError as error:
        raise _impossible(error) from error


def _seed(conversation: Conversation) -> int:
    """Chance as it falls here and now: whoever looks twice sees the same."""
    return conversation.id.int + conversation.last_seq


async def speaker_at_hand(
    session: AsyncSession,
    conversation: Conversation,
    access: SpaceAccess,
    speaker_id: UUID | None,
    kind: PreviewKind | None,
) -> SpaceMembership:
    """The member who was asked for, or the one who fits best: oneself, who spoke last, or who would speak next."""
    last: Message | None = None
    if kind == "continue":
        end = await end_of_path(session, conversation.id)
        if end is None or end[0].role != "assistant":
            raise Refused("conflict", _("The last message is not a reply, so it cannot be continued."))
        last = end[0]
    members = {member.id: member for member in await active_members(session, conversation.space_id)}
    if speaker_id is not None:
        if speaker_id not in members:
            raise Refused("invalid", _("This member is not in the space. Choose another one."))
        return members[speaker_id]
    if kind == "impersonate":
        if access.member is None:
            raise Refused("invalid", _("You are not in this space. Choose a speaker."))
        return access.member
    next_id = await _next(session, conversation, access) if last is None else last.membership_id
    if next_id in members and (kind is None or members[next_id].kind == "character"):
        return members[next_id]
    characters = [member for member in members.values() if member.kind == "character"]
    if not characters:
        raise Refused("conflict", _("No character can reply. Add one to the space."))
    return next((member for member in characters if member.participation == "active"), characters[0])


async def _next(session: AsyncSession, conversation: Conversation, access: SpaceAccess) -> UUID | None:
    """Who is about to speak, or who would be chosen to."""
    run = await active_run(session, conversation.id)
    if run is not None:
        return run.speaker_membership_id
    end = await end_of_path(session, conversation.id)
    said = None if end is None or end[0].role != "user" else end[0].content
    rules = effective(access.space).settings.space
    chosen = await choose_speakers(session, conversation, rules, seed=_seed(conversation), said=said)
    return chosen[0].member_id if chosen else None


def _impossible(error: TavernKitError) -> Refused:
    return Refused("conflict", sentence_of(error))
