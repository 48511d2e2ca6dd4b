"""What happens around a prompt: a reply is taken into the chat, and a message is made ready to be shown."""

from __future__ import annotations

import re

from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.chat import ChatMessage
from tavernkit.risuai.regex_scripts import ScriptResult, apply_scripts
from tavernkit.risuai.scene import Scene
from tavernkit.risuai.triggers import REFUSING, TriggerHost, run_triggers
from tavernkit.text.js_strings import js_trim
from tavernkit.values import Value

__all__ = ["TakenReply", "shown", "take_reply"]

_EMOTION = re.compile(r'<Emotion="(.+?)">', re.IGNORECASE)
"""How RisuAI asks the model to name the picture that it wants in its reply."""

REPLY = "reply"
"""The id of a reply that has none yet."""


class TakenReply(Value, frozen=True, kw_only=True):
    """The reply as it stands in the chat, the emotion that a script chose, and whether a trigger wants the model to
    be asked again at once."""

    text: str
    emotion: str | None = None
    asks_again: bool = False
    warnings: tuple[BuildWarning, ...] = ()


def take_reply(scene: Scene, text: str, *, continues: bool = False, host: TriggerHost | None = None) -> TakenReply:
    """Put the model's reply into the scene's chat: scripts for output, macros that set variables, `output` triggers.

    The scene is the one that a plan holds in `metadata["scene"]`. A reply that `continues` the last message is joined
    to it.
    """
    messages = scene.chat.messages
    continued = messages.pop() if continues and messages else None
    place = len(messages)
    whole = text if continued is None else continued.data + text
    edited = apply_scripts(js_trim(whole), scene, "editoutput", chat_index=place)
    reply = continued or ChatMessage(role="char", saying=None if scene.character is None else scene.character.id)
    id = reply.id or REPLY
    text = _EMOTION.sub(r"{{emotion::\1}}", edited.text) if _shows_emotions(scene) else edited.text
    messages.append(reply.with_(role="char", data=text, time=scene.now().timestamp() * 1000, id=id))
    for index, message in enumerate(messages):
        messages[index] = message.with_(data=expand(message.data, scene, CBSOptions(runs_variables=True)))
    result = run_triggers(scene, "output", host=host or REFUSING)
    scene.chat.messages = list(result.messages)
    scene.chat.note = result.note
    # A trigger may have taken earlier messages away, or the reply itself.
    left = next((message.data for message in reversed(scene.chat.messages) if message.id == id), "")
    return TakenReply(
        text=left,
        emotion=edited.emotion,
        asks_again=result.send_ai_prompt,
        warnings=(*edited.warnings, *result.warnings),
    )


def _shows_emotions(scene: Scene) -> bool:
    character = scene.character
    return character is not None and character.shows_pictures_in_chat and character.view_screen == "emotion"


def shown(scene: Scene, index: int) -> ScriptResult:
    """A message of the chat as the page shows it: after `display` triggers, macros and the scripts for display."""
    message = scene.chat.messages[index]
    options = CBSOptions(is_display=True, chat_role=message.role)
    return apply_scripts(message.data, scene, "editdisplay", chat_index=index, options=options)
