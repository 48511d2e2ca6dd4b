"""What `{{metadata}}` tells of the application and its model."""

from __future__ import annotations

from typing import NamedTuple

from tavernkit.risuai.cbs.call import CBSCall
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.risuai.scene import RisuScene

SYSTEM = FunctionPack("system")

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


@SYSTEM.function("metadata")
def metadata(call: CBSCall) -> str:
    asked = call.need(0)
    key = asked.lower()
    for told in (_of_application(key, call.scene), _of_model(key, call.scene)):
        if told is not None:
            return told
    return f"Error: {asked} is not a valid metadata key."


def _of_application(key: str, scene: RisuScene) -> str | None:
    match key:
        case "mobile" | "local" | "node":
            return "0"
        case "version":
            return _VERSION
        case "majorversion" | "majorver" | "major":
            return _VERSION.partition(".")[0]
        case "language" | "locale" | "lang":
            return scene.settings.language
        case "browserlanguage" | "browserlocale" | "browserlang":
            return _BROWSER_LANGUAGE
        case "imateapot":
            return "🫖"
        case "risutype":
            return "web"
        case "maxcontext":
            return str(scene.settings.max_context)
        case _:
            return None


def _of_model(key: str, scene: RisuScene) -> str | None:
    identity = scene.settings.model
    model = _MODELS.get(identity, _Model(identity, identity))
    match key:
        case "modelshortname" | "modelname":
            return model.name
        case "modelinternalid":
            return model.internal_id
        case "modelformat":
            return str(model.format)
        case "modelprovider":
            return str(model.provider)
        case "modeltokenizer":
            return str(model.tokenizer)
        case _:
            return None
