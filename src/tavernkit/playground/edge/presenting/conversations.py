"""From rows to what the pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message, Provider, Run, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import stored_sentence
from tavernkit.playground.base.llm.kinds import kind_of
from tavernkit.playground.base.names import initials, shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.artifacts import OverlayView, overlay_views
from tavernkit.playground.edge.presenting.home import model_name
from tavernkit.playground.edge.presenting.messages import (
    MessagePermissions,
    MessageView,
    is_among_people,
    message_views,
    newer_messages,
    permissions_of,
)
from tavernkit.playground.edge.presenting.panel import TrailView, trail_of
from tavernkit.playground.edge.presenting.runs import TurnsView, copilot_steps, turns_view
from tavernkit.playground.edge.views.quick_replies import BarButton, bar_of
from tavernkit.playground.edge.web.requests import ToastView
from tavernkit.playground.story.access.access import Access, SpaceAccess, conversation_for
from tavernkit.playground.story.access.personas import locked_persona
from tavernkit.playground.story.conversations.reading import position_of
from tavernkit.playground.story.conversations.service import may_restore
from tavernkit.playground.story.providers.queries import default_provider, provider_for
from tavernkit.playground.story.runs.queries import has_turns_behind, last_run, pictured_speaker
from tavernkit.playground.story.usage.budgets import BudgetPlace, states_in
from tavernkit.values import Value

ShownStatus: TypeAlias = Literal["queued", "running", "behind", "failed", "canceled"]

SHOWN: Mapping[str, ShownStatus] = {
    "queued": "queued",
    "running": "running",
    "failed": "failed",
    "canceled": "canceled",
}


MUTE_NOTES = {
    "muted": _("You are muted here. The owner of the space or a moderator can unmute you."),
    "observer": _("You are an observer here: you can read, but not write."),
}
"""Why members may not write, by how they take part."""


BUDGET_NOTES: Mapping[BudgetPlace, str] = {
    "conversation": _("{percent}% of the budget of this conversation is used."),
    "space": _("{percent}% of the budget of this space is used."),
    "person": _("{percent}% of the budget of the owner of this space is used."),
}


class RunView(Value, frozen=True, kw_only=True):
    """A reply that is not a message yet, or that never became one.

    `behind`: the reply is a message already, and steps behind it are at work. `can_skip`: it was cut short, and others
    are to speak behind it. `error_code` and `provider_id` say which links stand beside the error.
    """

    id: str
    status: ShownStatus
    speaker: str
    text: str
    is_by_person: bool = False
    picture_sha256: str = ""
    initials: str = "?"
    error: str | None = None
    error_code: str = ""
    provider_id: str = ""
    conversation_id: str = ""
    preparing: bool = False
    can_skip: bool = False


class OpenedWindow(Value, frozen=True, kw_only=True):
    """Messages around one that is far above the newest. Between `newer_after` and `newer_before` there are more."""

    messages: tuple[MessageView, ...]
    older_before: int | None
    newer_after: int
    newer_before: int


class ConversationView(Value, frozen=True, kw_only=True):
    """The chat page. `older_before` is the number of the first message shown, when there are older ones.

    Opened at a message that is not among the newest, it also has a `window` with that one.
    `read_seq` is the number of the last message that the reader has seen; None for those of whom nobody remembers it.
    `is_shared`: other people may be there, who see that one is and types. `mute_note` is why a member may not write.
    `account_id` is the reader's, whose drafts the browser keeps.
    """

    id: str
    title: str
    space_name: str
    messages: tuple[MessageView, ...]
    older_before: int | None
    run: RunView | None
    last_event: int
    model_name: str
    model_is_embedded: bool
    has_model: bool
    persona_name: str
    account_id: str = ""
    can_write: bool = True
    is_shared: bool = False
    mute_note: str = ""
    is_archived: bool = False
    may_restore: bool = False
    turns: TurnsView = TurnsView(conversation_id="")
    budget_notes: tuple[str, ...] = ()
    copilot_steps: int = 0
    permissions: MessagePermissions = MessagePermissions()
    toast: ToastView | None = None
    trail: TrailView = TrailView()
    overlays: tuple[OverlayView, ...] = ()
    quick_replies: tuple[BarButton, ...] = ()
    background_sha256: str | None = None
    window: OpenedWindow | None = None
    read_seq: int | None = None


class OlderView(Value, frozen=True, kw_only=True):
    """The messages before number `before`, for the frame that asked for them."""

    conversation_id: str
    before: int
    messages: tuple[MessageView, ...]
    older_before: int | None
    permissions: MessagePermissions = MessagePermissions()


class NewerView(Value, frozen=True, kw_only=True):
    """The messages behind number `after`, for the frame that asked for them; all below `before`."""

    conversation_id: str
    after: int
    before: int
    messages: tuple[MessageView, ...]
    newer_after: int | None
    permissions: MessagePermissions = MessagePermissions()


NEWER_IN_WINDOW = 10


async def conversation_view(
    runtime: Runtime,
    conversation_id: UUID,
    viewer: Viewer,
    *,
    undo: UUID | None = None,
    message_id: UUID | None = None,
) -> ConversationView:
    """The chat page, with the newest messages and those around `message_id`."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        space, permissions = access.space, permissions_of(conversation, access)
        messages, older_before = await message_views(session, conversation_id, before=None)
        run = await last_run(session, conversation_id)
        model = await _answering_model(session, space)
        return ConversationView(
            id=str(conversation.id),
            title=shown_name(conversation.name),
            space_name=shown_name(space.name),
            messages=messages,
            older_before=older_before,
            run=await _run_view(runtime, session, run),
            last_event=conversation.last_event,
            model_name=model_name(model),
            model_is_embedded=model is not None and kind_of(model).is_built_in,
            has_model=model is not None,
            persona_name=await _persona_name(session, conversation_id, access, messages),
            account_id=str(viewer.user_id),
            can_write=permissions.can_speak,
            is_shared=is_among_people(access),
            mute_note=_mute_note(access),
            is_archived="archived" in (space.status, conversation.status),
            may_restore=may_restore(access),
            turns=await turns_view(session, conversation),
            copilot_steps=copilot_steps(conversation, access.member),
            budget_notes=await budget_notes(runtime, session, conversation_id),
            permissions=permissions,
            trail=await trail_of(session, conversation, access),
            overlays=await overlay_views(session, conversation_id),
            quick_replies=await bar_of(session, viewer, access) if permissions.can_take_part else (),
            background_sha256=space.background_sha256,
            read_seq=await position_of(session, access, viewer, conversation_id),
            window=await _window(session, conversation_id, message_id, older_before),
            toast=None if undo is None else ToastView(sentence=_("Message deleted."), restore_id=str(undo)),
        )


async def _window(
    session: AsyncSession, conversation_id: UUID, message_id: UUID | None, first_shown: int | None
) -> OpenedWindow | None:
    """What is around a message, unless it is one of the newest, which are shown anyway, or is not there."""
    if message_id is None or first_shown is None:
        return None
    seq: int | None = await session.scalar(
        select(Message.seq).where(Message.id == message_id, Message.conversation_id == conversation_id)
    )
    if seq is None or seq >= first_shown:
        return None
    last = min(seq + NEWER_IN_WINDOW, first_shown)
    messages, older_before = await message_views(session, conversation_id, before=last)
    if not messages:
        return None
    return OpenedWindow(
        messages=messages, older_before=older_before, newer_after=messages[-1].seq, newer_before=first_shown
    )


async def newer_view(runtime: Runtime, conversation_id: UUID, viewer: Viewer, *, after: int, before: int) -> NewerView:
    """The page of messages below the one numbered `after`."""
    async with runtime.database.read() as session:
        found = await conversation_for(session, conversation_id, viewer, Access.READ)
        messages, newer_after = await newer_messages(session, conversation_id, after=after, before=before)
        return NewerView(
            conversation_id=str(conversation_id),
            after=after,
            before=before,
            messages=messages,
            newer_after=newer_after,
            permissions=permissions_of(*found),
        )


def _mute_note(access: SpaceAccess) -> str:
    """Why a member of the space may not write, where that is because of how they take part."""
    if access.member is None:
        return ""
    return MUTE_NOTES.get(access.member.participation, "")


async def older_view(runtime: Runtime, conversation_id: UUID, viewer: Viewer, *, before: int) -> OlderView:
    """The page of messages above the one numbered `before`."""
    async with runtime.database.read() as session:
        found = await conversation_for(session, conversation_id, viewer, Access.READ)
        messages, older_before = await message_views(session, conversation_id, before=before)
        return OlderView(
            conversation_id=str(conversation_id),
            before=before,
            messages=messages,
            older_before=older_before,
            permissions=permissions_of(*found),
        )


async def run_view(runtime: Runtime, session: AsyncSession, conversation_id: UUID) -> RunView | None:
    """What the page shows below the messages: a reply in the making, or one that was cut short."""
    return await _run_view(runtime, session, await last_run(session, conversation_id))


async def _run_view(runtime: Runtime, session: AsyncSession, run: Run | None) -> RunView | None:
    if run is None or run.dismissed:
        return None
    is_behind = run.status == "running" and run.replied_at is not None
    status = "behind" if is_behind else SHOWN.get(run.status)
    if status is None:
        return None
    speaker, picture = await pictured_speaker(session, run)
    provider = await provider_for(session, speaker)
    name = shown_name(speaker.cached_display_name)
    text = "" if is_behind else runtime.live_text.get(run.id, run.text)
    return RunView(
        id=str(run.id),
        conversation_id=str(run.conversation_id),
        status=status,
        speaker=name,
        is_by_person=speaker.kind == "human",
        picture_sha256=picture or "",
        initials=initials(name),
        text=text,
        error=stored_sentence(run.error) if run.error else None,
        error_code=run.error["code"] if run.error else "",
        provider_id="" if provider is None else str(provider.id),
        preparing=status == "running" and provider is not None and not runtime.models.is_ready(provider),
        can_skip=status in ("failed", "canceled") and await has_turns_behind(session, run),
    )


async def budget_notes(runtime: Runtime, session: AsyncSession, conversation_id: UUID) -> tuple[str, ...]:
    """What people are warned of: the budgets of which most is used."""
    states = await states_in(session, conversation_id, runtime.clock())
    return tuple(_(BUDGET_NOTES[state.place], percent=state.percent) for state in states if state.is_low)


async def _persona_name(
    session: AsyncSession, conversation_id: UUID, access: SpaceAccess, messages: Sequence[MessageView]
) -> str:
    """Who the viewer writes as, which the messages of their own say already."""
    if access.member is None:
        return ""
    own = str(access.member.id)
    if (known := next((message.author for message in messages if message.author_id == own), None)) is not None:
        return known
    locked = await locked_persona(session, conversation_id, access.member.user_id)
    return shown_name(access.member.cached_display_name if locked is None else locked.name)


async def _answering_model(session: AsyncSession, space: Space) -> Provider | None:
    """Who answers where no member has a provider of its own."""
    chosen = None if space.provider_id is None else await session.get(Provider, space.provider_id)
    if chosen is None:
        return await default_provider(session)
    return None if chosen.disabled else chosen
