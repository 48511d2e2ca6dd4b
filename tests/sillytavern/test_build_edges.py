"""Where the application, a script or a tool meets the budget and the chat."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tavernkit import Book, BuildHooks, Character, Context, Entry, Message, Plan, User, sillytavern
from tavernkit.history import InMemoryHistory
from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE
from tavernkit.lore.files.world_info import read_world_info
from tavernkit.presets import Preset
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern import Story, UserSettings
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt, PromptOrder, PromptToggle, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScript, RegexScripts
from tavernkit.sillytavern.settings import ReasoningSettings
from tavernkit.sillytavern.world_info import WorldInfoSettings

MIRA = Character(name="Mira", nickname="Mi", description="{{char}} keeps a lighthouse.")
ADA = User(name="Ada")
HISTORY = [{"role": "assistant", "content": "You are awake."}, {"role": "user", "content": "Where am I?"}]


def build(**inputs: Any) -> Plan:
    return sillytavern.build(**{"character": MIRA, "user": ADA, "history": HISTORY, **inputs}).plan


def adding(**block: Any) -> BuildHooks:
    hooks = BuildHooks()

    @hooks.before_trimming
    def add(ctx: Context) -> None:
        ctx.add_block(source="mine", **block)

    return hooks


def contents(plan: Plan) -> list[str]:
    return [message.content for message in plan.messages]


def test_entries_whose_depth_is_null_are_all_sent_at_the_default_depth() -> None:
    fields = {**ENTRY_TEMPLATE, "constant": True, "position": 4, "depth": None}
    entries = {str(uid): {**fields, "uid": uid, "content": f"Entry {uid}."} for uid in range(2)}
    book = read_world_info(LooseObject({"name": "B", "entries": entries}, ReportBuilder()))
    said = [{"role": "user", "content": f"Line {number}."} for number in range(6)]
    sent = contents(build(books=[book], history=said))
    place = sent.index("Line 1.") + 1
    assert sent[place : place + 2] == ["Entry 1.\nEntry 0.", "Line 2."]


@pytest.mark.parametrize("group", ["history", "control", "examples", "default"])
def test_what_a_hook_adds_is_sent_whatever_group_it_is_in(group: str) -> None:
    assert "Added." in contents(build(hooks=adding(content="Added.", token_budget_group=group)))


def test_what_a_hook_adds_and_may_be_left_out_is_left_out_where_there_is_no_room() -> None:
    plan = build(hooks=adding(content="word " * 3000), preset=ChatPreset(openai_max_context=500, openai_max_tokens=50))
    assert "Where am I?" in contents(plan)
    assert [record.source["id"] for record in plan.trim_report.evictions if record.source] == ["mine"]


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
    odd = PresetPrompt(identifier="odd", role="narrator", content="Hm.", injection_position=1, injection_depth=0)
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


LONG = 600
"""More messages than are read at first."""


def long_chat(**told: str) -> list[dict[str, Any]]:
    """A chat whose messages are their numbers, but for those that say something else, `m0` being the oldest."""
    return [
        {"role": "user" if number % 2 else "assistant", "content": told.get(f"m{number}", f"Number {number}.")}
        for number in range(LONG)
    ]


class ShortMemory(InMemoryHistory):
    """A chat that remembers how far back it was read."""

    furthest = 0

    def last(self, count: int) -> Sequence[Message]:
        self.furthest = max(self.furthest, count)
        return super().last(count)


def words(plan: Plan) -> str:
    return "\n".join(contents(plan))


ROOMY = [
    pytest.param(ChatPreset(openai_max_context=100_000), id="chat"),
    pytest.param(TextPreset(max_length=100_000), id="text"),
]
NARROW = [
    pytest.param(ChatPreset(openai_max_context=1_000), id="chat"),
    pytest.param(TextPreset(max_length=1_000), id="text"),
]


@pytest.mark.parametrize("preset", ROOMY)
def test_the_macros_of_the_new_message_run_once_however_long_the_chat_is(preset: Preset) -> None:
    plan = build(history=long_chat(), message="Try {{incvar::tries}}.", preset=preset)
    assert "Number 0." in words(plan)
    assert "Try 1." in words(plan)


@pytest.mark.parametrize("preset", ROOMY)
def test_the_macros_of_the_greeting_run_once_however_long_the_chat_is(preset: Preset) -> None:
    assert "Try 1." in words(build(history=long_chat(m0="Try {{incvar::tries}}."), preset=preset))


@pytest.mark.parametrize("preset", ROOMY)
def test_a_long_chat_is_sent_in_its_order(preset: Preset) -> None:
    sent = re.findall(r"Number (\d+)\.", words(build(history=long_chat(), preset=preset)))
    assert sent == [str(number) for number in range(LONG)]


@pytest.mark.parametrize("preset", NARROW)
def test_a_long_chat_of_which_little_fits_is_not_read_as_a_whole(preset: Preset) -> None:
    history = ShortMemory(long_chat())
    assert "Number 599." in words(build(history=history, preset=preset))
    assert history.furthest < LONG


@pytest.mark.parametrize("preset", ROOMY)
def test_the_depths_of_scripts_are_counted_from_the_end_of_the_whole_chat(preset: Preset) -> None:
    story = Story(regex_scripts=script("/Number/", "No.", (1, 2), promptOnly=True, minDepth=300))
    sent = words(build(history=long_chat(), story=story, preset=preset))
    assert "No. 299." in sent
    assert "Number 300." in sent


@pytest.mark.parametrize(("most", "returned"), [(1, ["new"]), (2, ["old", "new"])])
@pytest.mark.parametrize("preset", ROOMY)
def test_thoughts_are_returned_as_often_as_wanted_in_the_whole_chat(
    preset: Preset, most: int, returned: list[str]
) -> None:
    history = long_chat()
    for place, thought in ((2, "oldest"), (300, "old"), (598, "new")):
        history[place]["metadata"] = {"extra": {"reasoning": thought}}
    reasoning = ReasoningSettings(prefix="<", suffix=">", add_to_prompts=True, max_additions=most)
    plan = build(history=history, story=Story(settings=UserSettings(reasoning=reasoning)), preset=preset)
    assert re.findall("<(new|oldest|old)>", words(plan)) == returned


def lighthouse(depth: int | None) -> Book:
    said = {} if depth is None else {"scan_depth": depth}
    entry = Entry(id="1", keys=("lighthouse",), content="It has burnt down.", extensions=said)
    return Book(name="Coast", entries=(entry,))


@pytest.mark.parametrize("preset", NARROW)
@pytest.mark.parametrize(("depth", "wakes"), [(399, False), (400, True), (1_000, True)])
def test_an_entry_looks_as_far_back_as_it_wants(preset: Preset, depth: int, wakes: bool) -> None:
    history = long_chat(m200="To the lighthouse!")
    assert ("It has burnt down." in words(build(history=history, books=[lighthouse(depth)], preset=preset))) == wakes


@pytest.mark.parametrize(("furthest", "wakes"), [(0, True), (500, True), (300, False)])
def test_a_scan_for_want_of_activations_looks_as_far_back_as_it_may(furthest: int, wakes: bool) -> None:
    settings = WorldInfoSettings(min_activations=1, min_activations_depth_max=furthest)
    history = long_chat(m200="To the lighthouse!")
    plan = build(history=history, books=[lighthouse(None)], story=Story(world_info=settings))
    assert ("It has burnt down." in words(plan)) == wakes


def test_the_reply_that_a_swipe_replaces_is_left_out_even_behind_many_hidden_messages() -> None:
    hidden = [{"role": "assistant", "content": "Psst.", "metadata": {"is_system": True}}] * 200
    assert contents(build(history=[*HISTORY, *HISTORY[:1], *hidden], generation_type="swipe"))[-1] == "Where am I?"
