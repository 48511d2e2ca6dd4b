"""What the settings say: prompts, models, sizes, and the window that it is shown in."""

from __future__ import annotations

from tavernkit.risuai.cbs.functions.arguments import flag
from tavernkit.risuai.cbs.registry import FunctionPack

SETTINGS = FunctionPack(
    "settings",
    {
        "persona userpersona": lambda call: call.parse(call.scene.persona),
        "mainprompt systemprompt": lambda call: call.parse(call.scene.settings.main_prompt),
        "jb jailbreak": lambda call: call.parse(call.scene.settings.jailbreak),
        "globalnote systemnote ujb": lambda call: call.parse(call.scene.settings.global_note),
        "model": lambda call: call.scene.settings.model,
        "axmodel": lambda call: call.scene.settings.sub_model,
        "maxcontext": lambda call: str(call.scene.settings.max_context),
        "jbtoggled": lambda call: flag(call.scene.settings.jailbreak_on),
        "prefillsupported prefill": lambda call: flag(call.scene.settings.model.startswith("claude")),
        "screenwidth": lambda call: str(call.scene.screen.width),
        "screenheight": lambda call: str(call.scene.screen.height),
    },
)
