"""A prompt that was sent, built again with where its characters come from, and without some of its parts."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.previews.explanations import read_explained
from tavernkit.playground.story.previews.inspecting import PromptTrial, as_it_was, prompt_before, tried_without
from tavernkit.playground.story.previews.service import KeptPrompt, in_preview, read_prompt
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.inputs_kept import UnreadableInputsError, inputs_from
from tavernkit.playground.story.replaying.replay import estimator_in, kept_of


async def inspect_run(runtime: Runtime, viewer: Viewer, run: Run, *, off: Collection[str] = ()) -> PromptTrial:
    """The prompt that a run has sent, for those who may see it; `off` are the ids of what is left out of it.

    Its parts can be switched, and its sources are known, where it can be built again as it was.
    """
    prompt = await read_prompt(runtime, viewer, run.id)
    before = await prompt_before(runtime, viewer, run.conversation_id, run)
    explained = await read_explained(runtime, viewer, run.id)
    inputs = await _inputs(runtime, run.id)
    if inputs is not None:
        trial = await in_preview(lambda: tried_without(inputs, frozenset(off), before))
        if _texts(trial.whole.prompt) == _texts(prompt):
            sent = trial.whole.with_(prompt=prompt)
            return PromptTrial(whole=sent, tried=trial.tried if off else sent, links=explained.links)
    sent = as_it_was(prompt, explained.explanation, before)
    return PromptTrial(whole=sent, tried=sent, links=explained.links)


async def _inputs(runtime: Runtime, run_id: UUID) -> PromptInputs | None:
    """What the prompt was built from; None where that was not kept, or cannot be read any more."""
    try:
        async with runtime.database.read() as session:
            turn, parts = await kept_of(session, run_id, runtime.keys)
        estimator = await estimator_in(turn, parts)
        return None if estimator is None else inputs_from(turn, parts, estimator)
    except (Refused, UnreadableInputsError):
        return None


def _texts(prompt: KeptPrompt) -> list[tuple[str, str]]:
    return [(block.role, block.content) for block in prompt.blocks]
