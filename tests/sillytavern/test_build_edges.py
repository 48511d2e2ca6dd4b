"""Where the application, a script or a tool meets the budget and the chat."""

from collections.abc import Callable
from typing import Any

import pytest

from tavernkit import Book, BuildHooks, Character, Context, Entry, Plan, User, sillytavern
from tavernkit.sillytavern import Story, UserSettings
from tavernkit.sillytavern.presets import ChatPreset, Prompt, PromptOrder, PromptToggle, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScript, RegexScripts

MIRA = Character(name="Mira", nickname="Mi", description="{{char}} keeps a lighthouse.")
ADA = User(name="Ada")
HISTORY = [{"role": "assistant", "content": "You are awake."}, {"role": "user", "content": "Where am I?"}]


def build(**inputs: Any) -> Plan:
    return sillytavern.build(**{"character": MIRA, "user": ADA, "history": HISTORY, **inputs})


def adding(**block: Any) -> BuildHooks:
    hooks = BuildHooks()

    @hooks.after_build
    def add(ctx: Context) -> None:
        ctx.add_block(source="mine", **block)

    return hooks


def contents(plan: Plan) -> list[str]:
    return [message.content for message in plan.messages]


@pytest.mark.parametrize("group", ["history", "control", "examples", "default"])
def test_what_a_hook_adds_is_sent_whatever_group_it_is_in(group: str) -> None:
    assert "Added." in contents(build(hooks=adding(content="Added.", token_budget_group=group)))


def test_what_a_hook_adds_and_may_be_left_out_is_left_out_where_there_is_no_room() -> None:
    plan = build(hooks=adding(content="word " * 3000), preset=ChatPreset(openai_max_context=500, openai_max_tokens=50))
    assert "Where am I?" in contents(plan)
    assert [record.source["id"] for record in plan.trim_report.evictions if record.source] == ["mine"]  # type: ignore[union-attr]


def test_what_a_hook_adds_to_a_text_must_fit_too() -> None:
    plan = build(hooks=adding(content="word " * 3000, slot="mine"), preset=TextPreset(max_length=500, genamt=50))
    report = plan.trim_report
    assert report is not None
    assert report.final_tokens <= report.budget_tokens
    assert [warning.code for warning in plan.warnings] == ["trimmed"]


def test_a_nickname_is_not_what_sillytavern_calls_the_character() -> None:
    assert "Mira keeps a lighthouse." in contents(build())


def script(find: str, replace: str, placement: tuple[int, ...], **more: Any) -> RegexScripts:
    return RegexScripts(
        global_=(RegexScript(scriptName="s", findRegex=find, replaceString=replace, placement=placement, **more),)
    )


def test_scripts_see_the_new_message_with_its_macros_expanded() -> None:
    story = Story(regex_scripts=script("/Ada/g", "SHE", (1,), promptOnly=True))
    assert contents(build(message="I am {{user}}.", story=story))[-1] == "I am SHE."


def test_scripts_for_what_the_user_says_run_on_the_new_message_alone() -> None:
    story = Story(regex_scripts=script("/am/g", "AM", (1,)))
    assert contents(build(message="I am here.", story=story))[-2:] == ["Where am I?", "I AM here."]


def test_scripts_for_world_info_change_what_is_inserted() -> None:
    book = Book(name="Weather", entries=(Entry(id="1", content="Rain.", constant=True),))
    story = Story(regex_scripts=script("/Rain/", "Snow", (5,), promptOnly=True))
    assert "Snow." in contents(build(books=[book], story=story))


@pytest.mark.parametrize(("source", "sent"), [("openai", 4), ("claude", 6), ("makersuite", 5)])
def test_no_more_stopping_strings_are_sent_than_the_provider_takes(source: str, sent: int) -> None:
    settings = UserSettings(custom_stopping_strings='["a","b","c","d","e","f"]')
    plan = build(preset=ChatPreset(chat_completion_source=source), story=Story(settings=settings))
    assert len(plan.llm_options["stop"]) == sent
    assert [warning.code for warning in plan.warnings] == (["stopping_strings"] if sent < 6 else [])


TOOLS = {
    "role": "assistant",
    "content": "",
    "metadata": {
        "is_system": True,
        "extra": {"tool_invocations": [{"id": "c1", "name": "tide", "parameters": '{"at":"noon"}', "result": "Low."}]},
    },
}


def test_calls_of_tools_are_sent_as_messages_where_the_preset_uses_tools() -> None:
    plan = build(history=[*HISTORY, TOOLS], preset=ChatPreset(function_calling=True))
    call, result = plan.messages[-2:]
    assert (call.role, call.metadata["tool_calls"][0]["function"]["name"]) == ("assistant", "tide")
    assert (result.role, result.content, result.metadata["tool_call_id"]) == ("tool", "Low.", "c1")


def test_calls_of_tools_stay_hidden_where_the_preset_does_not_use_tools() -> None:
    assert contents(build(history=[*HISTORY, TOOLS]))[-1] == "Where am I?"


@pytest.mark.parametrize("limit", range(60, 160, 5))
def test_a_call_and_its_result_are_sent_both_or_not_at_all(limit: int) -> None:
    preset = ChatPreset(function_calling=True, openai_max_context=limit, openai_max_tokens=10)
    roles = [message.role for message in build(history=[*HISTORY, TOOLS], preset=preset).messages]
    assert ("tool" in roles) == any(message.metadata.get("tool_calls") for message in build(
        history=[*HISTORY, TOOLS], preset=preset).messages)  # fmt: skip


def test_a_prompt_of_an_unknown_role_is_left_out_with_a_warning() -> None:
    order = PromptOrder(order=(PromptToggle(identifier="chatHistory"), PromptToggle(identifier="odd")))
    odd = Prompt(identifier="odd", role="narrator", content="Hm.", injection_position=1, injection_depth=0)
    plan = build(preset=ChatPreset(prompts=(odd,), prompt_order=(order,)))
    assert "unknown_role" in [warning.code for warning in plan.warnings]


@pytest.mark.parametrize("make", [ChatPreset, TextPreset])
def test_a_hook_may_bring_another_preset(make: Callable[..., Any]) -> None:
    hooks = BuildHooks()
    other = make()

    @hooks.before_build
    def swap(ctx: Context) -> None:
        ctx.preset = other

    assert build(preset=make(name="first"), hooks=hooks).messages
