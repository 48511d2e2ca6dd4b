"""Where the characters of a prompt come from: of one that was sent, and of the one that would be sent now."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, PromptSnapshot, Run, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.previews.service import PreviewKind, in_preview, kept_snapshot, next_inputs
from tavernkit.playground.story.previews.source_links import SourceLink, links_of
from tavernkit.playground.story.prompting.building import build_prompt
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.records import explanation_of, rows_of
from tavernkit.playground.story.prompting.rows import PromptRows
from tavernkit.playground.story.prompting.stored import explanation_in, read_document
from tavernkit.prompt.sources import Explanation
from tavernkit.values import Value


class ExplainedPrompt(Value, frozen=True, kw_only=True):
    """Where a prompt comes from, and the rows that the viewer may open among its sources."""

    explanation: Explanation
    links: tuple[SourceLink, ...]


class NamedPrompt(Value, frozen=True, kw_only=True):
    """Where a prompt comes from, and the rows that its sources are, whoever may open them."""

    explanation: Explanation
    rows: PromptRows
    conversation_id: UUID


async def read_explanation(runtime: Runtime, viewer: Viewer, run_id: UUID) -> Explanation:
    """Where the prompt of a run comes from, for those who may see the prompt."""
    return (await read_explained(runtime, viewer, run_id)).explanation


async def read_explained(runtime: Runtime, viewer: Viewer, run_id: UUID) -> ExplainedPrompt:
    """Where the prompt of a run comes from, with links, for those who may see the prompt."""
    async with runtime.database.read() as session:
        kept = await read_named(session, viewer, run_id)
        links = await links_of(session, viewer, kept.conversation_id, kept.explanation, kept.rows)
    return ExplainedPrompt(explanation=kept.explanation, links=links)


async def read_named(session: AsyncSession, viewer: Viewer, run_id: UUID) -> NamedPrompt:
    """Where the prompt of a run comes from, with its rows, for those who may see the prompt."""
    snapshot, conversation_id = await kept_snapshot(session, viewer, run_id)
    document = await read_document(session, snapshot)
    return NamedPrompt(explanation=explanation_in(document), rows=document.rows, conversation_id=conversation_id)


async def preview_explanation(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    speaker_id: UUID | None = None,
    kind: PreviewKind | None = None,
) -> ExplainedPrompt:
    """Where the prompt that would be sent now comes from; for members of the space."""
    inputs = await next_inputs(runtime, viewer, conversation_id, speaker_id=speaker_id, kind=kind)
    explanation, rows = await in_preview(lambda: _explained(inputs))
    async with runtime.database.read() as session:
        links = await links_of(session, viewer, conversation_id, explanation, rows)
    return ExplainedPrompt(explanation=explanation, links=links)


async def explanation_in_conversation(runtime: Runtime, conversation_id: UUID, *, is_next: bool) -> Explanation:
    """Where the latest prompt of a conversation comes from, or the next one, as the owner of its space may see it: for
    whoever has the database."""
    async with runtime.database.read() as session:
        space = select(Space.owner_id).join(Conversation, Conversation.space_id == Space.id)
        owner_id = existing(await session.scalar(space.where(Conversation.id == conversation_id)), _("conversation"))
        latest = (
            select(PromptSnapshot.run_id)
            .join(Run, Run.id == PromptSnapshot.run_id)
            .where(Run.conversation_id == conversation_id)
            .order_by(PromptSnapshot.created_at.desc())
            .limit(1)
        )
        run_id = None if is_next else existing(await session.scalar(latest), _("prompt"))
    viewer = Viewer(user_id=owner_id)
    if run_id is None:
        return (await preview_explanation(runtime, viewer, conversation_id)).explanation
    return await read_explanation(runtime, viewer, run_id)


def _explained(inputs: PromptInputs) -> tuple[Explanation, PromptRows]:
    prompt = build_prompt(inputs, is_traced=True)
    explanation = explanation_of(prompt)
    return explanation, rows_of(prompt, explanation)
