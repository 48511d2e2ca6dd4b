"""The contract's table of warnings and errors: each situation in a build that goes on, and in a strict one."""

from collections.abc import Callable
from typing import Any

import pytest

from tavernkit import (
    BudgetPreset,
    Built,
    Character,
    Context,
    InvalidCardError,
    LoreParseError,
    Message,
    MissingInputError,
    PipelineError,
    TokenBudgetExceeded,
    User,
    build,
    characters,
    plain_pipeline,
    risuai,
    sillytavern,
)
from tavernkit.lore import read_book
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.errors import CBSStackOverflowError, CBSSyntaxError, TriggerRecursionError
from tavernkit.risuai.trigger import Trigger
from tavernkit.sillytavern.errors import (
    InvalidPresetError,
    MacroSyntaxError,
    UnconsumedMacroError,
    UnknownMacroError,
)
from tavernkit.sillytavern.presets import ChatPreset, read_preset

BUILDS: list[Callable[..., Built[Any]]] = [build, sillytavern.build, risuai.build]
ROBIN = User(name="Robin")


def described(text: str) -> dict[str, Any]:
    return {"character": Character(name="Mira", description=text), "user": ROBIN}


def texts(built: Built[Any]) -> list[str]:
    return [message.content for message in built.plan.messages]


def codes(built: Built[Any]) -> set[str]:
    return {warning.code for warning in built.plan.warnings}


def test_an_unknown_macro_stays_with_a_warning_or_is_an_error() -> None:
    inputs = described("A {{nope}} painter.")
    built = sillytavern.build(**inputs)
    assert "A {{nope}} painter." in texts(built)
    assert codes(built) == {"unknown_macro"}
    with pytest.raises(UnknownMacroError) as raised:
        sillytavern.build(**inputs, strict=True)
    assert (raised.value.macro_name, raised.value.position) == ("nope", 2)


def test_a_malformed_macro_stays_with_a_warning_or_is_an_error() -> None:
    inputs = described("A {{broken painter.")
    built = sillytavern.build(**inputs)
    assert "A {{broken painter." in texts(built)
    assert codes(built) == {"macro_syntax"}
    with pytest.raises(MacroSyntaxError):
        sillytavern.build(**inputs, strict=True)


@pytest.mark.parametrize(
    ("description", "user", "left_over"),
    [("Stray {{/if}}.", ROBIN, "{{/if}}"), ("", User(name="{{random}}"), "{{random}}")],
)
def test_a_placeholder_that_is_left_over_is_a_warning_or_an_error(description: str, user: User, left_over: str) -> None:
    inputs = {**described(description), "user": user}
    built = sillytavern.build(**inputs)
    assert left_over in "".join(texts(built))
    assert codes(built) == {"unconsumed_macro"}
    with pytest.raises(UnconsumedMacroError):
        sillytavern.build(**inputs, strict=True)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("build_as", BUILDS)
def test_a_missing_character_or_user_is_an_error_in_both_modes(build_as: Callable[..., Any], strict: bool) -> None:
    for given, missing in (({"user": ROBIN}, "character="), ({"character": Character(name="Mira")}, "user=")):
        with pytest.raises(MissingInputError, match=missing) as raised:
            build_as(**given, strict=strict)
        assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_no_card_is_an_error_in_both_modes(strict: bool) -> None:
    for source in (b"[]", b'{"spec": "chara_card_v2", "data": {"description": "x"}}', b"on: push"):
        with pytest.raises(InvalidCardError):
            characters.load(source, strict=strict)


@pytest.mark.parametrize("strict", [False, True])
def test_an_exception_of_a_stage_is_wrapped_in_both_modes(strict: bool) -> None:
    def broken(ctx: Context) -> None:
        raise KeyError("pony")

    pipeline = plain_pipeline().append("broken", broken)
    with pytest.raises(PipelineError, match=r"'pony' \(stage: broken\)") as raised:
        build(pipeline=pipeline, **described(""), strict=strict)
    assert raised.value.stage == "broken"
    assert isinstance(raised.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("build_as", "preset"),
    [
        (build, BudgetPreset(context_window_tokens=200, reserved_response_tokens=20)),
        (sillytavern.build, ChatPreset(openai_max_context=200, openai_max_tokens=20)),
        (risuai.build, risuai.RisuSettings(max_context=200, max_response=20)),
    ],
    ids=["plain", "sillytavern", "risuai"],
)
def test_a_prompt_over_the_budget_is_trimmed_with_a_warning_or_is_an_error(
    build_as: Callable[..., Any], preset: object
) -> None:
    history = [Message(role="user", content=f"{number} " + "word " * 60) for number in range(5)]
    inputs = {**described(""), "history": history, "preset": preset}
    built = build_as(**inputs)
    assert codes(built) == {"trimmed"}
    assert built.plan.trim_report.final_tokens <= built.plan.trim_report.budget_tokens < 200
    assert not any(text.startswith("0 ") for text in texts(built))
    with pytest.raises(TokenBudgetExceeded) as raised:
        build_as(**inputs, strict=True)
    assert raised.value.actual > raised.value.budget


def test_a_preset_field_of_an_impossible_value_gets_its_default_with_a_warning_or_is_an_error() -> None:
    inputs = {**described(""), "preset": read_preset({"prompts": [], "temperature": "hot"})}
    built = sillytavern.build(**inputs)
    assert [(warning.code, warning.where["field"]) for warning in built.plan.warnings] == [
        ("broken_input", "temperature")
    ]
    assert built.request.options["temperature"] == ChatPreset().temperature
    with pytest.raises(InvalidPresetError, match="temperature"):
        sillytavern.build(**inputs, strict=True)


@pytest.mark.parametrize("build_as", BUILDS)
def test_a_broken_lore_entry_is_left_out_with_a_warning_or_is_an_error(build_as: Callable[..., Any]) -> None:
    book = read_book({"entries": {"0": "broken", "1": {"uid": 1, "constant": True, "content": "The tide is out."}}})
    built = build_as(**described(""), books=[book])
    assert "The tide is out." in texts(built)
    assert [(warning.code, warning.where["field"]) for warning in built.plan.warnings] == [
        ("broken_input", "entries[0]")
    ]
    with pytest.raises(LoreParseError, match=r"entries\[0\]"):
        build_as(**described(""), books=[book], strict=True)


def test_a_cbs_block_that_never_closes_stays_or_is_an_error() -> None:
    inputs = described("A {{#when::1}}painter of {{char}}")
    built = risuai.build(**inputs)
    assert texts(built) == ["A <painter of Mira"]
    assert codes(built) == {"cbs_syntax"}
    with pytest.raises(CBSSyntaxError) as raised:
        risuai.build(**inputs, strict=True)
    assert (raised.value.position, raised.value.block_type) == (2, "when")


def test_a_cbs_call_stack_over_its_limit_is_told_in_the_text_or_is_an_error() -> None:
    inputs = described("{{#func f}}{{call::f}}{{/func}}{{call::f}}")
    built = risuai.build(**inputs)
    assert texts(built) == ["ERROR: Call stack limit reached"]
    assert codes(built) == {"cbs_stack_overflow"}
    with pytest.raises(CBSStackOverflowError):
        risuai.build(**inputs, strict=True)


def test_triggers_that_run_each_other_too_often_are_skipped_or_are_an_error() -> None:
    count = {"type": "setvar", "operator": "+=", "var": "runs", "value": "1"}
    again = {"type": "runtrigger", "value": "loop"}
    mira = RisuCharacter(name="Mira", triggers=(Trigger(type="start", comment="loop", effects=(count, again)),))
    inputs = {"story": risuai.Story(character=mira), "user": ROBIN, "message": "Hi"}
    built = risuai.build(**inputs)
    assert texts(built) == ["Hi"]
    assert codes(built) == {"trigger_recursion"}
    assert built.result.variables["local"] == {"runs": "11"}
    with pytest.raises(TriggerRecursionError) as raised:
        risuai.build(**inputs, strict=True)
    assert raised.value.effect_type == "runtrigger"
