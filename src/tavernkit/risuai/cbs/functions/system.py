"""What the settings say: prompts, models, sizes, the window, and what `{{metadata}}` tells of the application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tavernkit.risuai.cbs.call import CBSCall
from tavernkit.risuai.cbs.functions.arguments import flag
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.risuai.scene import RisuScene

SYSTEM = FunctionPack(
    "system",
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

# Cards ask for a version to know which macros they may use; this is the one whose behaviour is followed here.
_VERSION = "166.3.3"
# There is no browser to ask, so we answer as RisuAI's web version does in an English one.
_BROWSER_LANGUAGE = "en-US"


class _Model(NamedTuple):
    """A model as RisuAI lists it; the numbers are those of its kinds of request, providers and tokenizers."""

    name: str
    internal_id: str
    format: int = 0
    provider: int = 4
    tokenizer: int = 0


# RisuAI ships a list of models that changes with every version. Only its default is here; any other is described as
# RisuAI describes a model that it does not know.
_MODELS = {"gpt4o": _Model("GPT-4o", "gpt-4o", provider=0, tokenizer=2)}


_TOLD: Mapping[str, Callable[[RisuScene], str]] = {
    **dict.fromkeys(("mobile", "local", "node"), lambda _: "0"),
    "version": lambda _: _VERSION,
    **dict.fromkeys(("majorversion", "majorver", "major"), lambda _: _VERSION.partition(".")[0]),
    **dict.fromkeys(("language", "locale", "lang"), lambda scene: scene.settings.language),
    **dict.fromkeys(("browserlanguage", "browserlocale", "browserlang"), lambda _: _BROWSER_LANGUAGE),
    "imateapot": lambda _: "🫖",
    "risutype": lambda _: "web",
    "maxcontext": lambda scene: str(scene.settings.max_context),
    **dict.fromkeys(("modelshortname", "modelname"), lambda scene: _model(scene).name),
    "modelinternalid": lambda scene: _model(scene).internal_id,
    "modelformat": lambda scene: str(_model(scene).format),
    "modelprovider": lambda scene: str(_model(scene).provider),
    "modeltokenizer": lambda scene: str(_model(scene).tokenizer),
}


@SYSTEM.function("metadata")
def metadata(call: CBSCall) -> str:
    asked = call.need(0)
    tell = _TOLD.get(asked.lower())
    return f"Error: {asked} is not a valid metadata key." if tell is None else tell(call.scene)


def _model(scene: RisuScene) -> _Model:
    identity = scene.settings.model
    return _MODELS.get(identity, _Model(identity, identity))
