"""What only the application around a chat can do; each effect asks the host for it."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.risuai.triggers.effects.pack import EffectPack, low_level
from tavernkit.risuai.triggers.run import Returned, TriggerRun
from tavernkit.text.js_numbers import to_number

pack = EffectPack()

_OPTION_MARK = "§"
_FAILED = "null"


def _may_ask(run: TriggerRun) -> bool:
    """Nobody is asked while a text is about to be shown or sent: the run ends there."""
    if run.display_data is not None:
        raise Returned
    return True


@pack.action("triggerlua", "triggercode")
def scripted(run: TriggerRun) -> None:
    run.shared.warn(
        "trigger_lua",
        "A trigger is written in Lua and was not run: Lua is not supported.",
    )


@pack.action("command", "v2Command", reads=("value",))
def command(run: TriggerRun, text: str) -> None:
    run.ask_host("run a command", lambda host: host.run_command(text), None)


@pack.action("sendAIprompt", "v2SendAIprompt", guard=low_level)
def send_prompt(run: TriggerRun) -> None:
    run.send_ai_prompt = True


@pack.action(
    "showAlert",
    reads=("value", "inputVar"),
    fixed=("alertType",),
    guard=lambda run: low_level(run) and _may_ask(run),
)
def alert_v1(run: TriggerRun, text: str, output: str, kind: str) -> None:
    match kind:
        case "normal" | "error":
            run.ask_host("show an alert", lambda host: host.alert(text, is_error=kind == "error"), None)
        case "input":
            run.set(output, ask(run, text))
        case "select":
            run.set(output, _choose(run, text.split(_OPTION_MARK), ""))


@pack.action("v2ShowAlert", reads=("value",), guard=_may_ask)
def alert(run: TriggerRun, text: str) -> None:
    run.ask_host("show an alert", lambda host: host.alert(text, is_error=False), None)


@pack.answer("v2GetAlertInput", reads=("display",), guard=_may_ask)
def ask(run: TriggerRun, text: str) -> str:
    return run.ask_host("ask the user", lambda host: host.ask(text), "")


@pack.answer("v2GetAlertSelect", reads=("display", "value"), guard=_may_ask)
def choose(run: TriggerRun, text: str, options: str) -> str:
    return _choose(run, options.split("|"), text)


def _choose(run: TriggerRun, options: Sequence[str], text: str) -> str:
    return run.ask_host("let the user choose", lambda host: host.choose(options, text), "")


@pack.answer("runLLM", reads=("value",), guard=low_level)
def model_v1(run: TriggerRun, prompt: str) -> str:
    return run.ask_host("ask a model", lambda host: host.ask_model(prompt, "model"), "Error: no answer")


@pack.answer("v2RunLLM", reads=("value",), fixed=("model",), guard=low_level)
def model(run: TriggerRun, prompt: str, which: str) -> str:
    return run.ask_host(
        "ask a model",
        lambda host: host.ask_model(prompt, "submodel" if which == "submodel" else "model"),
        _FAILED,
    )


@pack.answer("checkSimilarity", reads=("value", "source"), guard=low_level)
def similarity_v1(run: TriggerRun, candidates: str, text: str) -> str:
    return similarity(run, text, candidates)


@pack.answer("v2CheckSimilarity", reads=("source", "value"), guard=low_level)
def similarity(run: TriggerRun, text: str, candidates: str) -> str:
    listed = candidates.split(_OPTION_MARK)
    return _OPTION_MARK.join(run.ask_host("compare texts", lambda host: host.most_similar(text, listed), ()))


@pack.answer("runImgGen", "v2ImgGen", reads=("value", "negValue"), fixed=("type",), guard=low_level)
def image(run: TriggerRun, prompt: str, negative: str, type: str) -> str:
    id = run.ask_host("make a picture", lambda host: host.make_image(prompt, negative), None)
    if id is None:
        return _FAILED if type == "v2ImgGen" else "Error: no picture"
    return f"{{{{inlay::{id}}}}}"


@pack.action("v2Wait", reads=("value",))
def wait(run: TriggerRun, seconds: str) -> None:
    run.ask_host("wait", lambda host: host.wait(to_number(seconds)), None)


@pack.action("v2UpdateGUI")
def refresh(run: TriggerRun) -> None:
    run.ask_host("draw the page anew", lambda host: host.refresh(None), None)


@pack.action("v2UpdateChatAt", fixed=("index",))
def refresh_message(run: TriggerRun, index: str) -> None:
    run.ask_host("draw a message anew", lambda host: host.refresh(index), None)
