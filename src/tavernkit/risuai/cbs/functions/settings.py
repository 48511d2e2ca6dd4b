"""What the settings say: prompts, models, sizes, and the window that it is shown in."""

from __future__ import annotations

from tavernkit.risuai.cbs.call import CBSCall
from tavernkit.risuai.cbs.functions.arguments import flag
from tavernkit.risuai.cbs.registry import FunctionPack

SETTINGS = FunctionPack("settings")


@SETTINGS.function("persona", "userpersona")
def persona(call: CBSCall) -> str:
    return call.parse(call.scene.persona)


@SETTINGS.function("mainprompt", "systemprompt")
def main_prompt(call: CBSCall) -> str:
    return call.parse(call.scene.settings.main_prompt)


@SETTINGS.function("jb", "jailbreak")
def jailbreak(call: CBSCall) -> str:
    return call.parse(call.scene.settings.jailbreak)


@SETTINGS.function("globalnote", "systemnote", "ujb")
def global_note(call: CBSCall) -> str:
    return call.parse(call.scene.settings.global_note)


@SETTINGS.function("model")
def model(call: CBSCall) -> str:
    return call.scene.settings.model


@SETTINGS.function("axmodel")
def auxiliary_model(call: CBSCall) -> str:
    return call.scene.settings.sub_model


@SETTINGS.function("maxcontext")
def max_context(call: CBSCall) -> str:
    return str(call.scene.settings.max_context)


@SETTINGS.function("jbtoggled")
def jailbreak_toggled(call: CBSCall) -> str:
    return flag(call.scene.settings.jailbreak_on)


@SETTINGS.function("prefillsupported", "prefill")
def prefill_supported(call: CBSCall) -> str:
    return flag(call.scene.settings.model.startswith("claude"))


@SETTINGS.function("screenwidth")
def screen_width(call: CBSCall) -> str:
    return str(call.scene.screen.width)


@SETTINGS.function("screenheight")
def screen_height(call: CBSCall) -> str:
    return str(call.scene.screen.height)
