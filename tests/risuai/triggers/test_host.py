"""What triggers ask of the application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from tests.risuai.triggers.builders import effect, run, scene, trigger

from tavernkit.risuai.triggers import RefusedByHost, TriggerHost, TriggerOutcome, TriggerResult, run_triggers


class Application:
    """Answers at once from what it was given."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def alert(self, text: str, *, is_error: bool) -> None:
        self.asked.append(("alert", text, is_error))

    def ask(self, text: str) -> str:
        return f"typed after {text}"

    def choose(self, options: Sequence[str], text: str) -> str:
        return str(len(options) - 1)

    def run_command(self, text: str) -> None:
        self.asked.append(("command", text))

    def ask_model(self, prompt: str, model: Literal["model", "submodel"]) -> str:
        if not prompt:
            raise RefusedByHost("The prompt is empty.")
        return f"{model}: {prompt}"

    def most_similar(self, text: str, candidates: Sequence[str]) -> Sequence[str]:
        return sorted(candidates)

    def make_image(self, prompt: str, negative: str) -> str:
        return "pic-1"

    def wait(self, seconds: float) -> None:
        self.asked.append(("wait", seconds))

    def refresh(self, chat_index: str | None) -> None:
        self.asked.append(("refresh", chat_index))


EVERYTHING = (
    effect("ShowAlert", value="hi"),
    effect("Command", value="/cut 1"),
    effect("Wait", value="2"),
    effect("UpdateGUI"),
    {"type": "v2UpdateChatAt", "index": "3", "indent": 0},
    effect("GetAlertInput", display="name?", outputVar="typed"),
    effect("GetAlertSelect", display="which?", value="a|b|c", outputVar="chosen"),
    effect("RunLLM", value="write", model="submodel", outputVar="answer"),
    effect("CheckSimilarity", source="x", value="b§a", outputVar="similar"),
    effect("ImgGen", value="a lamp", negValue="", outputVar="picture"),
    effect("SendAIprompt"),
)


def low_level(*effects: dict[str, Any], **options: Any) -> TriggerResult:
    return run_triggers(scene(trigger(*effects), lowLevelAccess=True), "start", **options)


def test_a_host_answers_and_is_told() -> None:
    application = Application()
    host: TriggerHost = application
    result = low_level(*EVERYTHING, host=host)
    assert result.variables == {
        "typed": "typed after name?",
        "chosen": "2",
        "answer": "submodel: write",
        "similar": "a§b",
        "picture": "{{inlay::pic-1}}",
    }
    assert application.asked == [
        ("alert", "hi", False),
        ("command", "/cut 1"),
        ("wait", 2.0),
        ("refresh", None),
        ("refresh", "3"),
    ]
    assert result.send_ai_prompt
    assert result.warnings == ()


def test_without_one_everything_is_refused_and_the_run_goes_on() -> None:
    result = low_level(*EVERYTHING)
    assert {warning.code for warning in result.warnings} == {"trigger_refused"}
    assert result.variables == {"typed": "", "chosen": "", "answer": "null", "similar": "", "picture": "null"}
    assert result.send_ai_prompt


def test_a_host_may_refuse_a_single_thing() -> None:
    result = low_level({"type": "runLLM", "value": "", "inputVar": "answer"}, host=Application())
    assert result.variables == {"answer": "Error: no answer"}
    assert "The prompt is empty." in result.warnings[0].message


@pytest.mark.parametrize(
    "asking",
    [
        {"type": "showAlert", "alertType": "normal", "value": "hi", "inputVar": ""},
        effect("ShowAlert", value="hi"),
        effect("GetAlertInput", display="name?", outputVar="typed"),
        effect("GetAlertSelect", display="which?", value="a|b", outputVar="chosen"),
    ],
)
def test_nobody_is_asked_while_a_text_is_about_to_be_shown(asking: dict[str, Any]) -> None:
    application = Application()
    result = low_level(asking, host=application, display_data="text")
    assert result.outcome is TriggerOutcome.RETURNED
    assert application.asked == []


def test_models_and_pictures_need_low_level_access() -> None:
    application = Application()
    result = run(*EVERYTHING[7:], host=application)
    assert result.variables == {}
    assert not result.send_ai_prompt


def test_lua_is_refused_in_every_mode_that_would_run_it() -> None:
    story = scene(trigger({"type": "triggerlua", "code": "print(1)"}, type="start"))
    result = run_triggers(story, "output")
    assert [warning.code for warning in result.warnings] == ["trigger_lua"]
