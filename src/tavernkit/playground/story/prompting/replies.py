"""Keeping what has become of a model's reply."""

from __future__ import annotations

from typing import TypedDict

from tavernkit import Built, Reply, risuai, sillytavern
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.paths.global_variables import GlobalChanges
from tavernkit.playground.story.prompting.building import BuiltPrompt
from tavernkit.playground.story.prompting.history import REASONING
from tavernkit.playground.story.prompting.state import global_changes, state_changes
from tavernkit.sillytavern import SillyTavernResult
from tavernkit.values import Json, Value


class StoredReply(Value, frozen=True, kw_only=True):
    """A reply as it is stored; `state_delta` is what the prompt and the reply have changed in the story's state,
    `global_changes` in the variables of all stories.

    `text` is empty when nothing is left of what the model sent.
    """

    text: str
    reasoning: str = ""
    state_delta: dict[str, Json] | None = None
    global_changes: GlobalChanges = GlobalChanges()

    @property
    def metadata(self) -> dict[str, Json]:
        """What the swipe keeps beside its text."""
        return {REASONING: self.reasoning} if self.reasoning else {}


class _Given(TypedDict):
    thoughts: str
    continued: str
    ends: tuple[str, ...]
    stop: tuple[str, ...]


def make_reply(prompt: BuiltPrompt, text: str, thoughts: str = "") -> StoredReply:
    """Let the platform make a message of the reply; `thoughts` are those that the provider has told apart itself."""
    reply, inputs = _taken(prompt, text, thoughts), prompt.inputs
    text = storable(reply.text)
    return StoredReply(
        text=text if text.strip() else "",
        reasoning=storable(reply.reasoning),
        state_delta=state_changes(inputs.state, reply.variables["local"], prompt.built.result.timed),
        global_changes=global_changes(inputs.global_variables, reply.variables["global"]),
    )


def _taken(prompt: BuiltPrompt, text: str, thoughts: str) -> Reply:
    inputs, plan = prompt.inputs, prompt.plan
    # Not every server obeys: what should have ended the reply is looked for again.
    given = _Given(
        thoughts=thoughts, continued=inputs.continued, ends=inputs.limits.stop, stop=tuple(prompt.request.stop)
    )
    result = prompt.built.result
    if isinstance(result, SillyTavernResult):
        return sillytavern.take_reply(Built(plan=plan, result=result), text, **given)
    return risuai.take_reply(Built(plan=plan, result=result), text, **given)
