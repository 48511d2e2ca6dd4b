"""The next prompt with where its characters come from, and the same prompt with some of its parts switched off."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Block
from tavernkit.artifacts import redacted_blocks
from tavernkit.hooks import BuildHook
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message, PromptSnapshot, Run
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, message_for
from tavernkit.playground.story.previews.explanations import read_explanation
from tavernkit.playground.story.previews.service import (
    KeptBlock,
    KeptPrompt,
    PreviewKind,
    in_preview,
    next_inputs,
    prompt_of,
)
from tavernkit.playground.story.previews.source_links import SourceLink, links_of
from tavernkit.playground.story.prompting.building import BuiltPrompt, build_prompt
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.records import document_of, explanation_of, fingerprint_of, rows_of
from tavernkit.playground.story.prompting.rows import PromptRows
from tavernkit.prompt.context import Context
from tavernkit.prompt.reuse import Reuse, reuse
from tavernkit.prompt.sources import Explanation
from tavernkit.prompt.unsent import made_of
from tavernkit.values import Value


class PromptPart(Value, frozen=True, kw_only=True):
    """A block of a prompt, in its order. `ids` are what it is switched off by: of merged prompts, each; none where it
    cannot be switched. One that is off is not in the prompt."""

    block: KeptBlock
    ids: tuple[str, ...] = ()
    is_off: bool = False


class InspectedPrompt(Value, frozen=True, kw_only=True):
    """A prompt with its parts, also those that were switched off, and where its characters come from. `reuse` is what
    it has in common with the prompt before it, None where there is none."""

    prompt: KeptPrompt
    parts: tuple[PromptPart, ...]
    explanation: Explanation
    reuse: Reuse | None = None
    rows: PromptRows | None = None


class PromptTrial(Value, frozen=True, kw_only=True):
    """A prompt, and what it is without the parts that were switched off; the same twice where none were."""

    whole: InspectedPrompt
    tried: InspectedPrompt
    links: tuple[SourceLink, ...] = ()


async def inspect_preview(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    speaker_id: UUID | None = None,
    kind: PreviewKind | None = None,
    off: Collection[str] = (),
) -> PromptTrial:
    """The prompt for what this member would say next, or whoever would speak, with its sources; for members of the
    space. `off` are the ids of what is left out of it."""
    inputs = await next_inputs(runtime, viewer, conversation_id, speaker_id=speaker_id, kind=kind)
    before = await prompt_before(runtime, viewer, conversation_id)
    trial = await in_preview(lambda: tried_without(inputs, frozenset(off), before))
    if trial.tried.rows is None:
        return trial
    async with runtime.database.read() as session:
        found = await links_of(session, viewer, conversation_id, trial.tried.explanation, trial.tried.rows)
    return trial.with_(links=found)


async def prompt_before(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, run: Run | None = None
) -> Explanation | None:
    """The last prompt of a conversation that was kept, or the last before that of a run."""
    query = select(Run.id).join(PromptSnapshot, PromptSnapshot.run_id == Run.id)
    query = query.where(Run.conversation_id == conversation_id).order_by(Run.created_at.desc(), Run.id).limit(1)
    if run is not None:
        query = query.where(Run.created_at < run.created_at)
    async with runtime.database.read() as session:
        found = await session.scalar(query)
    return None if found is None else await read_explanation(runtime, viewer, found)


def as_it_was(prompt: KeptPrompt, explanation: Explanation, before: Explanation | None) -> InspectedPrompt:
    """A prompt that was kept; its parts cannot be switched."""
    return InspectedPrompt(
        prompt=prompt,
        parts=tuple(PromptPart(block=block) for block in prompt.blocks),
        explanation=explanation,
        reuse=None if before is None else reuse(before, explanation),
    )


def tried_without(inputs: PromptInputs, off: frozenset[str], before: Explanation | None) -> PromptTrial:
    """Build a prompt whole, and without what is off."""
    whole = _inspected(inputs, frozenset(), before)
    return PromptTrial(whole=whole, tried=_inspected(inputs, off, before) if off else whole)


def _inspected(inputs: PromptInputs, off: frozenset[str], before: Explanation | None) -> InspectedPrompt:
    left_out: list[Block] = []
    # Without the times of its stages: whoever looks twice sees the same.
    built = build_prompt(inputs, is_traced=True, before_trimming=_without(off, left_out)).with_(stages=())
    prompt, explanation = prompt_of(document_of(built), fingerprint_of(built)), explanation_of(built)
    switched = {block.id for block in left_out}
    estimator, model = inputs.estimator, inputs.provider.model
    return InspectedPrompt(
        prompt=prompt,
        parts=_parts(built, prompt, left_out),
        explanation=explanation.with_(evicted=tuple(one for one in explanation.evicted if one.id not in switched)),
        reuse=None if before is None else reuse(before, explanation, estimator=estimator, model=model),
        rows=rows_of(built, explanation),
    )


def _without(off: frozenset[str], left_out: list[Block]) -> BuildHook:
    """A hook that switches off what has only parts of these names, and adds it to `left_out`."""

    def switch_off(ctx: Context) -> None:
        for place, block in enumerate(ctx.blocks):
            if block.enabled and off.issuperset(made_of(block)):
                left_out.append(block)
                ctx.blocks[place] = block.disable()

    return switch_off


def _parts(built: BuiltPrompt, prompt: KeptPrompt, left_out: list[Block]) -> tuple[PromptPart, ...]:
    """The blocks of the prompt, with those that were left out where they would stand."""
    places = {block.id: place for place, block in enumerate(built.plan.blocks)}
    enabled = zip(built.plan.enabled_blocks, prompt.blocks, strict=True)
    found = [(places[block.id], PromptPart(block=kept, ids=tuple(made_of(block)))) for block, kept in enabled]
    for block in left_out:
        found.append((places.get(block.id, len(places)), _off(built, block)))
    return tuple(part for _place, part in sorted(found, key=lambda one: one[0]))


def _off(built: BuiltPrompt, block: Block) -> PromptPart:
    [visible] = redacted_blocks([block])
    kept = KeptBlock(
        sha256="",
        role=block.role,
        name=block.name,
        slot=block.slot,
        source=block.source,
        tokens=block.tokens(built.inputs.estimator, built.inputs.provider.model),
        content=visible.content,
    )
    return PromptPart(block=kept, ids=tuple(made_of(block)), is_off=True)


class MessageRun(Value, frozen=True, kw_only=True):
    """The conversation of a message, and the run whose prompt says most about it, if there is one."""

    conversation_id: UUID
    run_id: UUID | None


async def run_of_message(session: AsyncSession, viewer: Viewer, message_id: UUID) -> MessageRun:
    """The run that wrote a message; of one that no run wrote, the first that has replied to it."""
    message, conversation, _access = await message_for(session, message_id, viewer, Access.READ)
    run_id = message.run_id
    if run_id is None:
        run_id = await session.scalar(
            select(Message.run_id)
            .where(Message.conversation_id == conversation.id, Message.seq > message.seq, Message.run_id.is_not(None))
            .order_by(Message.seq)
            .limit(1)
        )
    return MessageRun(conversation_id=conversation.id, run_id=run_id)
