"""Changing what was said: its text, whether models read it, and whether it is there at all.

A message that branches begin at may be changed like any other: a branch has rows of its own and shares only texts,
which never change.
"""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access
from tavernkit.playground.story.paths.changing import changeable_message, note_change
from tavernkit.playground.story.paths.messages import active_swipe
from tavernkit.playground.story.paths.snapshots import path_changed
from tavernkit.playground.story.runs.unavailable import before_hiding


async def exclude_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> Message:
    """Keep it on the page and out of prompts."""
    return await _show_as(runtime, viewer, message_id, "excluded")


async def include_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> Message:
    """Let models read it again."""
    return await _show_as(runtime, viewer, message_id, "normal")


async def hide_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> Message:
    """Delete it, softly: gone from pages, prompts, branches and the story's state until it is restored."""
    async with runtime.database.write() as session:
        message, conversation = await changeable_message(session, message_id, viewer, Access.MODERATE, hidden=True)
        if message.visibility == "hidden":
            return message
        await before_hiding(session, runtime, conversation, message)
        message.hidden_from, message.visibility = message.visibility, "hidden"
        conversation.messages_count -= 1
        await note_change(session, runtime, message, "message_hidden")
        if (await active_swipe(session, message)).state_delta:
            await path_changed(session, conversation.id, message.seq)
        return message


async def restore_message(runtime: Runtime, viewer: Viewer, message_id: UUID) -> Message:
    """Bring a hidden message back to where and what it was."""
    async with runtime.database.write() as session:
        message, conversation = await changeable_message(session, message_id, viewer, Access.MODERATE, hidden=True)
        if message.visibility != "hidden":
            return message
        message.visibility, message.hidden_from = message.hidden_from or "normal", None
        conversation.messages_count += 1
        await note_change(session, runtime, message, "message_restored")
        if (await active_swipe(session, message)).state_delta:
            await path_changed(session, conversation.id, message.seq)
        return message


async def _show_as(
    runtime: Runtime, viewer: Viewer, message_id: UUID, visibility: Literal["normal", "excluded"]
) -> Message:
    async with runtime.database.write() as session:
        message, _ = await changeable_message(session, message_id, viewer, Access.TAKE_PART)
        if message.visibility != visibility:
            message.visibility = visibility
            await note_change(session, runtime, message, "message_changed")
        return message
