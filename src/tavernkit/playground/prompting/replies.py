"""Making a message of what a model has answered."""

from __future__ import annotations

from functools import partial

from tavernkit.playground.paths.global_variables import GlobalChanges
from tavernkit.playground.prompting.building import Prompt
from tavernkit.playground.prompting.history import REASONING
from tavernkit.playground.prompting.state import global_changes, state_changes
from tavernkit.playground.storable import storable
from tavernkit.sillytavern.cleanup import clean_reply
from tavernkit.sillytavern.presets import ChatPreset
from tavernkit.sillytavern.reasoning import receive_reply
from tavernkit.values import Json, Value

__all__ = ["Reply", "make_reply"]


class Reply(Value, frozen=True, kw_only=True):
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


def make_reply(prompt: Prompt, text: str, thoughts: str = "") -> Reply:
    """Take the thoughts out, cut off what does not belong to the speaker, and run the scripts for what models say.

    `thoughts` are those that the provider has told apart itself.
    """
    inputs, settings = prompt.inputs, prompt.chosen.settings
    cast = inputs.cast
    is_impersonate = inputs.generation_type == "impersonate"
    scripted = prompt.scene.scripts()
    for stop in inputs.limits.stop:
        # Not every server obeys.
        text = text.partition(stop)[0]
    received = receive_reply(
        text,
        settings.reasoning,
        known=thoughts or None,
        trim_spaces=settings.trim_spaces,
        apply_regex=partial(scripted, "reasoning"),
    )
    content = clean_reply(
        received.content,
        settings=settings,
        user_name=cast.user.name,
        character_name=cast.character.name,
        group_names=() if cast.group is None else tuple(member.name for member in cast.group.present),
        is_impersonate=is_impersonate,
        is_continue=inputs.generation_type == "continue",
        stopping_strings=prompt.request.stop,
        api="chat" if isinstance(prompt.chosen.preset, ChatPreset) else "text",
        expand=prompt.scene.expand,
        apply_regex=partial(scripted, "input" if is_impersonate else "reply"),
    )
    content = prompt.scene.said(storable(content).strip())
    return Reply(
        text=_continued(prompt) + content if content else "",
        reasoning=storable(received.reasoning or ""),
        state_delta=state_changes(inputs.state, prompt.variables, prompt.scene.timers()),
        global_changes=global_changes(inputs.global_variables, prompt.variables),
    )


def _continued(prompt: Prompt) -> str:
    """What the reply goes on with, and what stands between the two."""
    before, preset = prompt.inputs.continued, prompt.chosen.preset
    if not before or before[-1].isspace() or not isinstance(preset, ChatPreset):
        return before
    return before + preset.continue_postfix
