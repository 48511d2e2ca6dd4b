"""What only the application around a chat can do; each effect asks the host for it."""

from __future__ import annotations

from typing import Literal

from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields, Operand
from tavernkit.risuai.triggers.run import Returned, TriggerRun

pack = EffectPack()

_OPTION_MARK = "§"
_FAILED = "null"


@pack.effect("triggerlua", "triggercode")
def scripted(_: EffectFields) -> Action:
    def act(run: TriggerRun) -> None:
        run.shared.warn(
            "trigger_lua",
            "A trigger is written in Lua and was not run: there is no interpreter that could shut it in and stop it.",
        )

    return act


@pack.effect("command")
def command_v1(fields: EffectFields) -> Action:
    return _command(Operand(text=fields.optional_text("value")))


@pack.effect("v2Command")
def command(fields: EffectFields) -> Action:
    return _command(fields.operand("value"))


def _command(value: Operand) -> Action:
    def act(run: TriggerRun) -> None:
        text = run.text(value)
        run.ask_host("run a command", lambda host: host.run_command(text), None)

    return act


@pack.effect("sendAIprompt", "v2SendAIprompt")
def send_prompt(_: EffectFields) -> Action:
    def act(run: TriggerRun) -> None:
        if run.has_low_level_access:
            run.send_ai_prompt = True

    return act


@pack.effect("showAlert")
def alert_v1(fields: EffectFields) -> Action:
    value, output, kind = fields.optional_text("value"), fields.optional_text("inputVar"), fields.text("alertType")

    def act(run: TriggerRun) -> None:
        if not run.has_low_level_access:
            return
        _leave_display(run)
        text = run.expand(value)
        name = run.expand(output)
        match kind:
            case "normal" | "error":
                _show(run, text, is_error=kind == "error")
            case "input":
                run.set(name, _ask(run, text))
            case "select":
                run.set(name, _choose(run, text.split(_OPTION_MARK), ""))

    return act


@pack.effect("v2ShowAlert")
def alert(fields: EffectFields) -> Action:
    value = fields.operand("value")

    def act(run: TriggerRun) -> None:
        _leave_display(run)
        _show(run, run.text(value), is_error=False)

    return act


@pack.effect("v2GetAlertInput")
def ask(fields: EffectFields) -> Action:
    display, output = fields.operand("display"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        _leave_display(run)
        run.put(output, _ask(run, run.text(display)))

    return act


@pack.effect("v2GetAlertSelect")
def choose(fields: EffectFields) -> Action:
    display, value, output = fields.operand("display"), fields.operand("value"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        _leave_display(run)
        shown = run.text(display)
        run.put(output, _choose(run, run.text(value).split("|"), shown))

    return act


def _leave_display(run: TriggerRun) -> None:
    """Nobody is asked while a text is about to be shown or sent: the run ends there."""
    if run.display_data is not None:
        raise Returned


def _show(run: TriggerRun, text: str, *, is_error: bool) -> None:
    run.ask_host("show an alert", lambda host: host.alert(text, is_error=is_error), None)


def _ask(run: TriggerRun, text: str) -> str:
    return run.ask_host("ask the user", lambda host: host.ask(text), "")


def _choose(run: TriggerRun, options: list[str], text: str) -> str:
    return run.ask_host("let the user choose", lambda host: host.choose(options, text), "")


@pack.effect("runLLM")
def model_v1(fields: EffectFields) -> Action:
    value, output = fields.optional_text("value"), fields.text("inputVar")

    def act(run: TriggerRun) -> None:
        if run.has_low_level_access:
            answer = _ask_model(run, run.expand(value), "model")
            run.set(output, "Error: no answer" if answer is None else answer)

    return act


@pack.effect("v2RunLLM")
def model(fields: EffectFields) -> Action:
    value, output = fields.operand("value"), fields.optional_text("outputVar")
    which: Literal["model", "submodel"] = "submodel" if fields.text("model") == "submodel" else "model"

    def act(run: TriggerRun) -> None:
        if run.has_low_level_access:
            answer = _ask_model(run, run.text(value), which)
            run.put(output, _FAILED if answer is None else answer)

    return act


def _ask_model(run: TriggerRun, prompt: str, which: Literal["model", "submodel"]) -> str | None:
    return run.ask_host("ask a model", lambda host: host.ask_model(prompt, which), None)


@pack.effect("checkSimilarity")
def similarity_v1(fields: EffectFields) -> Action:
    value, source = fields.optional_text("value"), fields.optional_text("source")
    output = fields.text("inputVar")

    def act(run: TriggerRun) -> None:
        if run.has_low_level_access:
            candidates = run.expand(value)
            run.set(output, _most_similar(run, run.expand(source), candidates))

    return act


@pack.effect("v2CheckSimilarity")
def similarity(fields: EffectFields) -> Action:
    source, value, output = fields.operand("source"), fields.operand("value"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        if run.has_low_level_access:
            text = run.text(source)
            run.put(output, _most_similar(run, text, run.text(value)))

    return act


def _most_similar(run: TriggerRun, text: str, candidates: str) -> str:
    listed = candidates.split(_OPTION_MARK)
    return _OPTION_MARK.join(run.ask_host("compare texts", lambda host: host.most_similar(text, listed), ()))


@pack.effect("runImgGen")
def image_v1(fields: EffectFields) -> Action:
    value, negative = fields.optional_text("value"), fields.optional_text("negValue")
    output = fields.text("inputVar")

    def act(run: TriggerRun) -> None:
        if run.has_low_level_access:
            prompt = run.expand(value)
            picture = _image(run, prompt, run.expand(negative))
            run.set(output, "Error: no picture" if picture is None else picture)

    return act


@pack.effect("v2ImgGen")
def image(fields: EffectFields) -> Action:
    value, negative, output = fields.operand("value"), fields.operand("negValue"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        if run.has_low_level_access:
            prompt = run.text(value)
            picture = _image(run, prompt, run.text(negative))
            run.put(output, _FAILED if picture is None else picture)

    return act


def _image(run: TriggerRun, prompt: str, negative: str) -> str | None:
    id = run.ask_host("make a picture", lambda host: host.make_image(prompt, negative), None)
    return None if id is None else f"{{{{inlay::{id}}}}}"


@pack.effect("v2Wait")
def wait(fields: EffectFields) -> Action:
    value = fields.operand("value")

    def act(run: TriggerRun) -> None:
        seconds = run.number(value)
        run.ask_host("wait", lambda host: host.wait(seconds), None)

    return act


@pack.effect("v2UpdateGUI")
def refresh(_: EffectFields) -> Action:
    return lambda run: run.ask_host("draw the page anew", lambda host: host.refresh(None), None)


@pack.effect("v2UpdateChatAt")
def refresh_message(fields: EffectFields) -> Action:
    index = fields.text("index")
    return lambda run: run.ask_host("draw a message anew", lambda host: host.refresh(index), None)
