"""From rows to the messages that pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from uuid import UUID

from markupsafe import Markup
from sqlalchemy import Select, case, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    ArtifactHead,
    Character,
    Conversation,
    Message,
    MessagePicture,
    MessageSwipe,
    Persona,
    PipelineRun,
    Run,
    SpaceMembership,
    UsageEntry,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.vision import sees_pictures
from tavernkit.playground.base.names import initials, shown_name
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.text.markdown import calls_pictures, render_markdown
from tavernkit.playground.edge.presenting.artifact_cards import IN_CHAT, content_view
from tavernkit.playground.edge.presenting.artifacts import ChatArtifact, chat_artifacts
from tavernkit.playground.edge.presenting.step_failures import FailureView, failures_by_message
from tavernkit.playground.story.access.access import (
    Access,
    SpaceAccess,
    conversation_for,
    is_their_persona,
    message_for,
)
from tavernkit.playground.story.access.personas import AUTHOR_NAME, LOCKED_AVATAR, LOCKED_ID, with_locks
from tavernkit.playground.story.characters.queries import pictures_of
from tavernkit.playground.story.messages.service import read_swipes
from tavernkit.playground.story.paths.pictures import pictures_of_swipes
from tavernkit.playground.story.paths.writing import REASONING
from tavernkit.playground.story.prompting.fitting import LEFT_OUT, left_out_words
from tavernkit.playground.story.prompting.inputs import prompt_text
from tavernkit.playground.story.prompting.records import LORE, OMITTED
from tavernkit.playground.story.prompting.scripts import MessageToShow, ShownTexts, show_messages
from tavernkit.playground.story.providers.queries import provider_in
from tavernkit.playground.story.runs.speakers import may_speak
from tavernkit.playground.story.usage.budgets import dollars
from tavernkit.playground.story.usage.prices import cost_of_entry, with_prices
from tavernkit.values import Value


class MessageView(Value, frozen=True, kw_only=True):
    """One message; `html` has been through `render_markdown`, `swipe` counts from one, and `lore` is how many entries
    of lorebooks it was written with; its `cost` is that of all questions to models of its run, and `reuse` the
    percentage of its prompt that begins as the one before it did. `left_out` is what did not fit into its prompt, and
    `pictures_omitted` how many pictures its model did not get. Its own pictures are `unseen_by` the model that would
    answer now; `expression` is the face of its character. `sent_text` is what the model is sent in the place of what a
    person has typed, and `artifacts` what this swipe has left in the chat; `failures` are the steps around it that have
    failed. `html` and `reasoning` are what display scripts have made of it, and `script_problems` what is wrong with
    these.

    The same for everybody: what a reader may do with it, their `MessagePermissions` say.
    """

    id: str
    seq: int
    role: Literal["user", "assistant", "system"]
    author: str
    html: Markup
    created_at: datetime
    conversation_id: str = ""
    author_id: str = ""
    is_by_person: bool = False
    picture_sha256: str = ""
    initials: str = "?"
    content: str = ""
    reasoning: str = ""
    is_excluded: bool = False
    can_regenerate: bool = False
    swipe: int = 1
    swipes: int = 1
    run_id: str = ""
    tokens_read: int | None = None
    tokens_written: int | None = None
    cost: str = ""
    reuse: int | None = None
    lore: int = 0
    left_out: str = ""
    pictures: tuple[MessagePicture, ...] = ()
    expression: MessagePicture | None = None
    unseen_by: str = ""
    pictures_omitted: int = 0
    revision: int = 1
    sent_text: str = ""
    artifacts: tuple[ChatArtifact, ...] = ()
    failures: tuple[FailureView, ...] = ()
    script_problems: tuple[str, ...] = ()


class MessagePermissions(Value, frozen=True, kw_only=True):
    """What one reader may do with the messages of a conversation; without more, they may only read.

    `has_branches`: a Playground, where a story branches and has checkpoints; elsewhere there are threads.
    """

    member_id: str = ""
    can_take_part: bool = False
    can_speak: bool = False
    can_moderate: bool = False
    can_fork: bool = False
    can_inspect: bool = False
    has_branches: bool = False

    def is_own(self, message: MessageView) -> bool:
        return message.author_id == self.member_id if self.member_id else message.is_by_person

    def may_change(self, message: MessageView) -> bool:
        """Authors change what they said, and moderators what anybody did."""
        return self.can_moderate or (self.can_take_part and bool(self.member_id) and self.is_own(message))


class MessageRow(NamedTuple):
    """A message, who said it, which of its versions is seen, what the run that wrote it took, and whether pipelines
    have ever run in its conversation, and it has artifacts."""

    message: Message
    author_name: str
    author_kind: str
    author_status: str
    character_id: UUID | None
    thumbnail: str | None
    avatar: str | None
    swipe_position: int
    swipe_metadata: Mapping[str, Any]
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    common_tokens: int | None
    compared_tokens: int | None
    debug: Mapping[str, Any] | None
    has_pipelines: bool
    has_artifacts: bool


COST = (
    with_prices(select(func.sum(cost_of_entry())).select_from(UsageEntry))
    .where(UsageEntry.run_id == Message.run_id, ~UsageEntry.is_open)
    .correlate(Message)
    .scalar_subquery()
)
"""What the run of a message has cost, as far as it is known."""

_SHOWN: Select[
    Message,
    str,
    str,
    str,
    UUID | None,
    str | None,
    str | None,
    int,
    Any,
    int | None,
    int | None,
    float | None,
    int | None,
    int | None,
    Any,
    bool,
    bool,
] = with_locks(
    select(
        Message,
        AUTHOR_NAME,
        SpaceMembership.kind,
        SpaceMembership.status,
        SpaceMembership.character_id,
        Character.thumbnail_sha256,
        case((LOCKED_ID.is_not(None), LOCKED_AVATAR), else_=Persona.avatar_sha256),
        MessageSwipe.position,
        MessageSwipe.metadata_,
        Run.prompt_tokens,
        Run.completion_tokens,
        COST,
        Run.common_tokens,
        Run.compared_tokens,
        Run.debug,
        exists(PipelineRun.id).where(PipelineRun.conversation_id == Message.conversation_id),
        exists(ArtifactHead.tag).where(ArtifactHead.conversation_id == Message.conversation_id),
    )
    .join(SpaceMembership, SpaceMembership.id == Message.membership_id)
    .join(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
    .outerjoin(Character, Character.id == SpaceMembership.character_id)
    .outerjoin(Persona, is_their_persona())
    .outerjoin(Run, Run.id == Message.run_id)
    .where(Message.visibility != "hidden")
)
"""Put together once, because that takes longer than a page should."""


def permissions_of(conversation: Conversation, access: SpaceAccess) -> MessagePermissions:
    """What somebody who may read the conversation may do in it beyond that."""
    takes_part = access.level >= Access.TAKE_PART and access.space.status == "active"
    in_use = takes_part and conversation.status == "ready"
    return MessagePermissions(
        member_id="" if access.member is None else str(access.member.id),
        can_take_part=in_use,
        can_speak=in_use and may_speak(access.member),
        can_moderate=in_use and access.level >= Access.MODERATE,
        can_fork=takes_part and conversation.status in ("ready", "archived"),
        can_inspect=access.member is not None or access.level >= Access.ADMINISTER,
        has_branches=access.space.kind == "playground",
    )


def is_among_people(access: SpaceAccess) -> bool:
    """Whether somebody is a member where other people may be, too."""
    return access.member is not None and access.space.kind == "discussion"


async def find_permissions(session: AsyncSession, conversation_id: UUID, viewer: Viewer) -> MessagePermissions:
    """The same, for a conversation that the person has just done something in, and may have left by it."""
    try:
        return permissions_of(*await conversation_for(session, conversation_id, viewer, Access.READ))
    except Refused:
        return MessagePermissions()


MESSAGES_PER_PAGE = 20
_NO_PICTURES: Mapping[str, str] = {}


async def message_views(
    session: AsyncSession, conversation_id: UUID, *, before: int | None
) -> tuple[tuple[MessageView, ...], int | None]:
    """The newest messages below `before`, oldest first; and the number of the first, when there are older ones."""
    query = _SHOWN.where(Message.conversation_id == conversation_id).order_by(Message.seq.desc())
    if before is not None:
        query = query.where(Message.seq < before)
    found = (await session.execute(query.limit(MESSAGES_PER_PAGE + 1))).all()
    rows = [MessageRow(*row) for row in reversed(found)]
    has_older = len(rows) > MESSAGES_PER_PAGE
    views = await _views(session, rows[1:] if has_older else rows)
    return views, views[0].seq if has_older else None


async def newer_messages(
    session: AsyncSession, conversation_id: UUID, *, after: int, before: int
) -> tuple[tuple[MessageView, ...], int | None]:
    """The oldest messages between two numbers; and the number of the last, when there are more."""
    query = _SHOWN.where(Message.conversation_id == conversation_id, Message.seq > after, Message.seq < before)
    found = (await session.execute(query.order_by(Message.seq).limit(MESSAGES_PER_PAGE + 1))).all()
    views = await _views(session, [MessageRow(*row) for row in found[:MESSAGES_PER_PAGE]])
    return views, views[-1].seq if len(found) > MESSAGES_PER_PAGE else None


async def readable_views(
    session: AsyncSession, conversation_id: UUID, *, first: int, last: int
) -> tuple[MessageView, ...]:
    """The messages with these numbers that are part of the story: none that is deleted or excluded from the prompt."""
    query = _SHOWN.where(
        Message.conversation_id == conversation_id, Message.visibility == "normal", Message.seq.between(first, last)
    )
    rows = (await session.execute(query.order_by(Message.seq))).all()
    return await _views(session, [MessageRow(*row) for row in rows])


async def message_view(session: AsyncSession, message_id: UUID) -> MessageView | None:
    """One message that is not hidden, ready to be shown."""
    row = (await session.execute(_SHOWN.where(Message.id == message_id))).one_or_none()
    return None if row is None else (await _views(session, [MessageRow(*row)]))[0]


async def shown_to(
    runtime: Runtime, viewer: Viewer, message_id: UUID, *, needs: Access = Access.READ
) -> tuple[MessageView, MessagePermissions]:
    """A message, if this person may do with it what they want to, and what else they may do with it."""
    async with runtime.database.read() as session:
        found = await message_for(session, message_id, viewer, needs)
        view = await message_view(session, message_id)
        return existing(view, _("message")), permissions_of(*found[1:])


class SwipeView(Value, frozen=True, kw_only=True):
    """One version of a message; `text` is what stands in its box, which `is_typed` where that was not saved. `is_shown`
    says that it is the one in the chat."""

    id: UUID
    number: int
    html: Markup
    text: str
    pictures: int
    is_shown: bool
    is_typed: bool
    created_at: datetime


class SwipesView(Value, frozen=True, kw_only=True):
    """The versions of a message, some at a time; `next` is the position behind which the list goes on."""

    message: MessageView
    swipes: tuple[SwipeView, ...]
    next: int | None
    typed: str
    problem: str


SWIPES_PER_PAGE = 50


async def swipes_view(
    runtime: Runtime,
    viewer: Viewer,
    message_id: UUID,
    *,
    after: int = -1,
    problem: str = "",
    typed: Mapping[UUID | None, str] = MappingProxyType({}),
) -> SwipesView:
    """The versions of a message for somebody who may change it; `typed` is what was not saved, by swipe, and under None
    what was to be added."""
    message, _permissions = await shown_to(runtime, viewer, message_id, needs=Access.MODERATE)
    page = await read_swipes(runtime, viewer, message_id, after=after, limit=SWIPES_PER_PAGE)
    return SwipesView(
        message=message,
        swipes=tuple(
            SwipeView(
                id=row.id,
                number=row.position + 1,
                html=render_markdown(row.content),
                text=typed.get(row.id, row.content),
                pictures=len(page.pictures[row.id]),
                is_shown=row.position + 1 == message.swipe,
                is_typed=row.id in typed,
                created_at=row.created_at,
            )
            for row in page.swipes
        ),
        next=page.next,
        typed=typed.get(None, ""),
        problem=problem,
    )


async def _views(session: AsyncSession, rows: Sequence[MessageRow]) -> tuple[MessageView, ...]:
    if not rows:
        return ()
    conversation_id, ids = rows[0].message.conversation_id, [row.message.id for row in rows]
    shown = await _shown_texts(session, conversation_id, rows)
    callers = {
        row.character_id
        for row, texts in zip(rows, shown, strict=True)
        if row.character_id and calls_pictures(texts.text)
    }
    pictures = await pictures_of(session, callers) if callers else {}
    left = await chat_artifacts(session, conversation_id, ids) if rows[0].has_artifacts else {}
    failures = await failures_by_message(session, conversation_id, ids) if rows[0].has_pipelines else {}
    swipe_ids = [row.message.active_swipe_id for row in rows]
    found = await pictures_of_swipes(session, swipe_ids, kinds=("attached", "expression"))
    views = tuple(
        [
            _view(row, texts, pictures.get(row.character_id, _NO_PICTURES), left.get(str(row.message.id), ()))
            for row, texts in zip(rows, shown, strict=True)
        ]
    )
    if found:
        model = await provider_in(session, conversation_id)
        unseen_by = "" if model is None or sees_pictures(model) else shown_name(model.model or model.name)
        views = tuple(
            view.with_(
                pictures=tuple(one for one in own if one.kind == "attached"),
                expression=next((one for one in own if one.kind == "expression"), None),
                unseen_by=unseen_by,
            )
            for view, own in zip(views, map(found.__getitem__, swipe_ids), strict=True)
        )
    return tuple(view.with_(failures=failures.get(view.id, ())) for view in views) if failures else views


async def _shown_texts(session: AsyncSession, conversation_id: UUID, rows: Sequence[MessageRow]) -> list[ShownTexts]:
    """What each message says after the regex scripts for display; what is stored does not change."""
    stored = [
        MessageToShow(
            id=row.message.id,
            seq=row.message.seq,
            member_id=row.message.membership_id,
            role=row.message.role,
            text=row.message.content,
            reasoning=_reasoning(row),
            created_at=row.message.created_at,
            in_prompts=row.message.visibility == "normal",
        )
        for row in rows
    ]
    changed = await show_messages(session, conversation_id, stored)
    return [changed.get(one.id, ShownTexts(text=one.text, reasoning=one.reasoning)) for one in stored]


_BEHIND_ALL = 2**31 - 1


async def written_html(session: AsyncSession, run: Run, text: str) -> str | None:
    """A reply that is being written, as display scripts show it; None where there are none for it."""
    reply = MessageToShow(
        id=run.id,
        seq=_BEHIND_ALL,
        member_id=run.speaker_membership_id,
        role="user" if run.kind in ("impersonate", "copilot") else "assistant",
        text=text,
        created_at=run.created_at,
    )
    shown = (await show_messages(session, run.conversation_id, [reply])).get(run.id)
    return None if shown is None else str(render_markdown(shown.text))


def _reasoning(row: MessageRow) -> str:
    reasoning = row.swipe_metadata.get(REASONING)
    return reasoning if isinstance(reasoning, str) else ""


def _view(
    row: MessageRow, texts: ShownTexts, pictures: Mapping[str, str], artifacts: tuple[ChatArtifact, ...]
) -> MessageView:
    message = row.message
    sent_text = prompt_text(message.content, row.swipe_metadata, message.text_id)
    author = shown_name(row.author_name)
    return MessageView(
        id=str(message.id),
        conversation_id=str(message.conversation_id),
        seq=message.seq,
        role="assistant" if message.role == "assistant" else "user" if message.role == "user" else "system",
        author=author,
        author_id=str(message.membership_id),
        is_by_person=row.author_kind == "human",
        picture_sha256=row.thumbnail or row.avatar or "",
        initials=initials(author),
        html=render_markdown(texts.text, pictures),
        content=message.content,
        reasoning=texts.reasoning,
        is_excluded=message.visibility == "excluded",
        can_regenerate=message.role == "assistant" and row.author_status == "active",
        swipe=row.swipe_position + 1,
        swipes=message.swipes_count,
        run_id="" if message.run_id is None else str(message.run_id),
        tokens_read=row.prompt_tokens,
        tokens_written=row.completion_tokens,
        cost=dollars(row.cost) if row.cost else "",
        reuse=round(100 * (row.common_tokens or 0) / row.compared_tokens) if row.compared_tokens else None,
        lore=0 if row.debug is None else row.debug.get(LORE, 0),
        left_out="" if row.debug is None else left_out_words(row.debug.get(LEFT_OUT, {})),
        pictures_omitted=0 if row.debug is None else row.debug.get(OMITTED, 0),
        revision=message.revision,
        sent_text="" if sent_text == message.content else content_view(sent_text, "text", IN_CHAT).text,
        artifacts=artifacts,
        script_problems=texts.problems,
        created_at=message.created_at,
    )
