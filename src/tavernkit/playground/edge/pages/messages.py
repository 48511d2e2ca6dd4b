"""What people do with the messages on the chat page."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from itertools import zip_longest
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Header, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup

from tavernkit.playground.base.database.models import Message
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.live.streaming import message_stream
from tavernkit.playground.edge.pages.runs import run_answer
from tavernkit.playground.edge.presenting.messages import MessageView, find_permissions, shown_to, swipes_view
from tavernkit.playground.edge.web.forms import Flag, Text, fresh_page, one_newline, refusal_of, understood
from tavernkit.playground.edge.web.requests import (
    TOAST,
    PageCaller,
    ToastView,
    Visitor,
    answer,
    refuse_in,
    replaced,
    streamed,
    toast_stream,
    wants_streams,
)
from tavernkit.playground.edge.web.streams import stream
from tavernkit.playground.story.access.access import Access
from tavernkit.playground.story.conversations.forking import ForkKind, fork
from tavernkit.playground.story.messages.service import (
    add_swipe,
    delete_swipe,
    edit_message,
    edit_swipe,
    exclude_message,
    hide_message,
    include_message,
    restore_message,
    select_swipe,
)
from tavernkit.playground.story.paths.pictures import PictureIn
from tavernkit.playground.story.retention import EXPIRED
from tavernkit.playground.story.runs.requests import continue_reply, regenerate

router = APIRouter(prefix="/messages/{message_id}", dependencies=[refuse_in(TOAST)])

Revision = Annotated[int | None, Form(ge=1, le=2**31 - 1)]
Frame = Annotated[str, Header()]

After = Annotated[int, Query(ge=-1, le=2**31 - 1)]
Position = Annotated[int, Form(ge=0, le=2**31 - 1)]

_NOTHING = Markup()
NOTHING_TYPED: Mapping[UUID | None, str] = {}


@router.get("")
async def show(caller: PageCaller, message_id: UUID, turbo_frame: Frame = "") -> Response:
    """The text, for the frame that it was edited in; for everybody else the way to its place."""
    message, _permissions = await shown_to(*caller, message_id)
    if not turbo_frame:
        return RedirectResponse(_place(message.conversation_id, message_id), status_code=303)
    return fresh_page("_message_text.html", message=message)


@router.get("/edit")
async def edit(caller: PageCaller, message_id: UUID, turbo_frame: Frame = "") -> Response:
    found = await shown_to(*caller, message_id, needs=Access.MODERATE)
    return _edit_page(found[0], alone=not turbo_frame)


@router.post("")
async def save(
    caller: PageCaller,
    message_id: UUID,
    content: Text = "",
    revision: Revision = None,
    has_pictures: Flag = False,
    picture: Annotated[tuple[UUID, ...], Form()] = (),
    picture_title: Annotated[tuple[str, ...], Form()] = (),
) -> Response:
    """Rewrite it; a form that shows its pictures says which it is to have."""
    try:
        pictures = [
            understood(PictureIn, id=id, title=title)
            for id, title in zip_longest(picture, picture_title[: len(picture)])
        ]
        saved = await edit_message(
            *caller,
            message_id,
            content=content,
            revision=revision,
            pictures=pictures if has_pictures else None,
        )
    except Refused as refused:
        return await _not_saved(caller, message_id, content, refused)
    return await _changed(caller, saved, first=stream("remove", f"edit_{message_id}"))


@router.post("/swipe")
async def swipe(
    caller: PageCaller, message_id: UUID, to: Annotated[Literal["left", "right"], Form()] = "right"
) -> Response:
    return await _changed(caller, await select_swipe(*caller, message_id, to))


@router.get("/swipes")
async def swipes(caller: PageCaller, message_id: UUID, after: After = -1) -> Response:
    """All versions of a message, to be read, changed, added and deleted."""
    return await _swipes_page(caller, message_id, after=after)


@router.post("/swipes")
async def add(caller: PageCaller, message_id: UUID, content: Text = "", show: Flag = False) -> Response:
    """Add a version written by hand; it is shown only if that is asked for."""
    adding = add_swipe(*caller, message_id, swipe_id=caller.runtime.ids(), content=content, activate=show)
    return await _swipes_after(caller, message_id, adding, {None: content})


@router.post("/swipes/{swipe_id}")
async def change(
    caller: PageCaller, message_id: UUID, swipe_id: UUID, content: Text = "", revision: Revision = None
) -> Response:
    """Rewrite a version, shown or not."""
    changing = edit_swipe(*caller, message_id, swipe_id, content=content, revision=revision)
    return await _swipes_after(caller, message_id, changing, {swipe_id: one_newline(content)})


@router.post("/swipes/{swipe_id}/show")
async def choose(caller: PageCaller, message_id: UUID, position: Position, revision: Revision = None) -> Response:
    """Show another version in the chat."""
    return await _swipes_after(caller, message_id, select_swipe(*caller, message_id, position, revision=revision))


@router.post("/swipes/{swipe_id}/delete")
async def delete(caller: PageCaller, message_id: UUID, swipe_id: UUID, revision: Revision = None) -> Response:
    return await _swipes_after(caller, message_id, delete_swipe(*caller, message_id, swipe_id, revision=revision))


async def _swipes_after(
    caller: Visitor, message_id: UUID, action: Awaitable[object], typed: Mapping[UUID | None, str] = NOTHING_TYPED
) -> Response:
    """Do it, and show the versions as they are then; what was refused keeps what was typed."""
    refused = await refusal_of(action)
    if refused is None:
        return RedirectResponse(f"/messages/{message_id}/swipes", status_code=303)
    if refused.code == "forbidden":
        raise refused
    return await _swipes_page(caller, message_id, refused=refused, typed=typed)


async def _swipes_page(
    caller: Visitor,
    message_id: UUID,
    *,
    after: int = -1,
    refused: Refused | None = None,
    typed: Mapping[UUID | None, str] = NOTHING_TYPED,
) -> Response:
    problem = refused.sentence if refused else ""
    view = await swipes_view(*caller, message_id, after=after, problem=problem, typed=typed)
    return fresh_page("swipes.html", refused, view=view)


@router.post("/exclude")
async def exclude(caller: PageCaller, message_id: UUID) -> Response:
    return await _changed(caller, await exclude_message(*caller, message_id))


@router.post("/include")
async def include(caller: PageCaller, message_id: UUID) -> Response:
    return await _changed(caller, await include_message(*caller, message_id))


@router.post("/hide")
async def hide(caller: PageCaller, message_id: UUID) -> Response:
    hidden = await hide_message(*caller, message_id)
    can_return = hidden.trashed_at != EXPIRED
    toast = toast_stream(ToastView(sentence=_("Message deleted."), restore_id=str(message_id) if can_return else ""))
    first = stream("remove", f"edit_{message_id}") + stream("remove", f"message_{message_id}") + toast
    undo = f"/conversations/{hidden.conversation_id}" + (f"?undo={message_id}" if can_return else "")
    return await run_answer(caller, hidden.conversation_id, first, otherwise=undo)


@router.post("/restore")
async def restore(caller: PageCaller, message_id: UUID) -> Response:
    restored = await restore_message(*caller, message_id)
    async with caller.runtime.database.read() as session:
        permissions = await find_permissions(session, restored.conversation_id, caller.viewer)
        first = await message_stream(session, message_id, permissions, kind="message_restored")
    first += toast_stream(ToastView(sentence=_("Message restored.")))
    place = _place(restored.conversation_id, message_id)
    return await run_answer(caller, restored.conversation_id, first, otherwise=place)


@router.post("/regenerate")
async def regenerate_reply(caller: PageCaller, message_id: UUID, only_message: Flag = False) -> Response:
    """In its place if it is the last message, else in a branch, where the page then goes."""
    found = await shown_to(*caller, message_id)
    conversation_id = UUID(found[0].conversation_id)
    run = await regenerate(*caller, conversation_id, message_id=message_id, only_message=only_message)
    if run.conversation_id != conversation_id:
        return RedirectResponse(f"/conversations/{run.conversation_id}", status_code=303)
    return await run_answer(caller, conversation_id)


@router.post("/continue")
async def go_on(caller: PageCaller, message_id: UUID) -> Response:
    found = await shown_to(*caller, message_id)
    conversation_id = UUID(found[0].conversation_id)
    await continue_reply(*caller, conversation_id)
    return await run_answer(caller, conversation_id)


@router.post("/branch")
async def branch(caller: PageCaller, message_id: UUID) -> Response:
    """A story that goes on differently from here; where there are only threads, one of these."""
    message, permissions = await shown_to(*caller, message_id)
    kind: ForkKind = "branch" if permissions.has_branches else "thread"
    made = await fork(*caller, UUID(message.conversation_id), message_id, kind=kind)
    return RedirectResponse(f"/conversations/{made.id}", status_code=303)


@router.post("/checkpoint")
async def checkpoint(caller: PageCaller, message_id: UUID) -> Response:
    """The story up to here, to come back to; the page stays where it is."""
    message, permissions = await shown_to(*caller, message_id)
    conversation_id = message.conversation_id
    kind: ForkKind = "checkpoint" if permissions.has_branches else "thread"
    made = await fork(*caller, UUID(conversation_id), message_id, kind=kind)
    sentence = _("Checkpoint created.") if kind == "checkpoint" else _("Branch created.")
    toast = ToastView(sentence=sentence, address=f"/conversations/{made.id}")
    return answer(caller.request, toast_stream(toast), otherwise=_place(conversation_id, message_id))


async def _changed(caller: Visitor, changed: Message, *, first: Markup = _NOTHING) -> Response:
    """The message as it is now, for who has just changed it."""
    async with caller.runtime.database.read() as session:
        permissions = await find_permissions(session, changed.conversation_id, caller.viewer)
        streams = first + await message_stream(session, changed.id, permissions, kind="message_changed")
    return answer(caller.request, streams, otherwise=_place(changed.conversation_id, changed.id))


async def _not_saved(caller: Visitor, message_id: UUID, typed: str, refused: Refused) -> Response:
    """What was typed stays in the form; beside it stands why, and what the message says now if it was changed."""
    try:
        message, _permissions = await shown_to(*caller, message_id, needs=Access.MODERATE)
    except Refused:
        raise refused from None
    if not wants_streams(caller.request):
        return _edit_page(message, alone=True, typed=typed, refused=refused)
    place, is_stale, problem = f"edit_{message_id}_note", refused.code == "stale", refused.sentence
    note = replaced(place, "_message_edit_note.html", message=message, problem=problem, is_stale=is_stale)
    return streamed(note, refused.status)


def _edit_page(
    message: MessageView, *, alone: bool, typed: str | None = None, refused: Refused | None = None
) -> HTMLResponse:
    return fresh_page(
        "message_edit.html" if alone else "_message_edit.html",
        refused,
        message=message,
        typed=message.content if typed is None else typed,
        is_stale=refused is not None and refused.code == "stale",
    )


def _place(conversation_id: UUID | str, message_id: UUID) -> str:
    return f"/conversations/{conversation_id}#message_{message_id}"
