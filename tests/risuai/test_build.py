"""`tavernkit.risuai.build`: the whole way from a chat to the request."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.artifacts.builders import inclusion_report, wanted
from tests.risuai.prompt.builders import CHAT, TESS, Words, always, built, chat, marlow, on_start, plain, texts, told

from tavernkit import (
    Attachment,
    Block,
    Book,
    BudgetPreset,
    BuildHooks,
    Character,
    Context,
    Entry,
    Injection,
    Injections,
    Message,
    MissingInputError,
    Plan,
    TokenBudgetExceeded,
    User,
)
from tavernkit.artifacts import Anchor, include_artifacts
from tavernkit.macros import Variables
from tavernkit.risuai import RisuSettings, Story, TemplateSettings, build, prompt_pipeline
from tavernkit.risuai.cbs import CBS
from tavernkit.risuai.character import RisuDepthPrompt
from tavernkit.risuai.errors import CBSSyntaxError, DecoratorParseError, SendingStopped
from tavernkit.risuai.module import Module
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.risuai.trigger import Trigger

LONG = [f"{'ua'[n % 2]}: " + " ".join(f"t{n}_{word}" for word in range(20)) for n in range(8)]
TIGHT = {"model": "custom", "max_context": 420, "max_response": 200}


def hooks(*after: Any) -> BuildHooks:
    registry = BuildHooks()
    for hook in after:
        registry.before_trimming(hook)
    return registry


class TestInputs:
    def test_a_card_is_all_it_takes(self) -> None:
        card = Character(
            name="Mira", description="{{char}} sells lamps.", first_mes="Come in, {{user}}.", scenario="A shop."
        )
        plan = build(character=card, user=User(name="Robin"), message="Hello.").plan
        assert plan.to_messages("openai") == [
            {
                "role": "system",
                "content": "Mira sells lamps.\n\nCircumstances and context of the dialogue: A shop.",
            },
            {"role": "assistant", "content": "Come in, Robin."},
            {"role": "user", "content": "Hello."},
        ]
        assert plan.greeting == "Come in, Robin."

    def test_a_character_and_a_user_must_be_there(self) -> None:
        with pytest.raises(MissingInputError, match="character"):
            build(user=TESS)
        with pytest.raises(MissingInputError, match="user"):
            build(character=Character(name="Mira"))

    def test_only_risuais_settings_make_a_prompt(self) -> None:
        with pytest.raises(TypeError, match="BudgetPreset"):
            build(character=Character(name="Mira"), user=TESS, preset=BudgetPreset())

    def test_a_group_has_no_prompt(self) -> None:
        with pytest.raises(MissingInputError, match="member"):
            told(CHAT, character=marlow(is_group=True))

    def test_the_greeting_is_chosen_by_number(self) -> None:
        character = marlow(alternate_greetings=("Rain again.",))
        assert texts(told(CHAT, character=character, story=Story(greeting=0))) == ["Rain again."]
        assert texts(told(CHAT, character=character, story=Story(greeting=None), history=chat("a: Once."))) == ["Once."]

    def test_what_the_user_says_passes_scripts_and_triggers(self) -> None:
        shout = RisuRegexScript(type="editinput", pattern="hi", replacement="HI")
        count = Trigger(type="input", effects=({"type": "setvar", "operator": "=", "var": "asked", "value": "1"},))
        variables = Variables()
        plan = told(CHAT, character=marlow(scripts=(shout,), triggers=(count,)), message="hi", variables=variables)
        assert texts(plan)[-1] == "HI"
        assert variables.get("asked") == "1"

    def test_books_modules_and_toggles_come_from_the_application(self) -> None:
        book = Book(name="B", entries=(Entry(id="1", constant=True, content="from a book"),))
        module = Module(name="M", id="m", lore=(always("{{getglobalvar::toggle_night}} in a module"),))
        story = Story(modules=(module,), toggles={"night": "dark"})
        plan = told(story=story, settings={"order": ("lorebook",)}, books=[book])
        assert set(texts(plan)[0].split("\n\n")) == {"dark in a module", "from a book"}

    def test_variables_are_set_by_the_messages_once(self) -> None:
        variables = Variables()
        made = built(CHAT, history=chat("u: {{setvar::fog::thick}}Look!"), variables=variables)
        assert texts(made.plan)[-1] == "Look!"
        assert variables.get("fog") == made.result.variables["local"]["fog"] == "thick"
        assert made.result.chat.messages[0].data == "Look!"

    def test_disabled_messages_are_not_told(self) -> None:
        history = chat("u: one", "a: two", "u: three")
        hidden = [history[0], history[1].with_(metadata={"disabled": True}), history[2]]
        assert texts(told(CHAT, history=hidden)) == ["Hello.", "one", "three"]
        cut = [history[0], history[1].with_(metadata={"disabled": "allBefore"}), history[2]]
        assert texts(told(CHAT, history=cut)) == ["three"]

    def test_pictures_go_with_the_message(self) -> None:
        plan = told(CHAT, message="See?", attachments=[Attachment(url="https://example.org/a.png")])
        assert len(plan.messages[-1].attachments) == 1

    def test_another_reply_is_asked_for_without_the_last(self) -> None:
        plan = told(CHAT, history=chat("u: one", "a: two"), generation_type="swipe")
        assert texts(plan)[-1] == "one"

    def test_a_reply_can_be_continued(self) -> None:
        plan = told(CHAT, history=chat("u: one", "a: two"), generation_type="continue")
        assert texts(plan)[-1] == "[Continue the last response]"

    def test_a_generation_that_risuai_does_not_know_is_an_ordinary_one(self) -> None:
        plan = told(CHAT, generation_type="impersonate")
        assert [warning.code for warning in plan.warnings] == ["generation_type_unsupported"]

    def test_what_is_not_supported_is_said(self) -> None:
        plan = told(
            CHAT, character=marlow(additional_text="x"), settings={"prompt": TemplateSettings(assistant_prefill="Sure")}
        )
        assert {w.code for w in plan.warnings} == {"additional_text_unsupported", "preset_field_unsupported"}


class TestRequest:
    def test_lines_that_open_a_chat_are_not_for_openais_format(self) -> None:
        assert "[Start a new chat]" not in texts(told(CHAT))
        assert "[Start a new chat]" in texts(told(CHAT, settings={"model": "claude-3"}))
        assert "[Start a new chat]" in [block.content for block in told(CHAT).blocks]

    def test_messages_that_say_nothing_are_not_for_openais_format(self) -> None:
        silent = marlow(depth_prompt=RisuDepthPrompt(prompt="{{none}}"))
        assert texts(told(CHAT, character=silent)) == ["Hello."]
        assert texts(told(CHAT, character=silent, settings={"model": "custom"}))[-1] == ""

    def test_names_of_examples_are_sent(self) -> None:
        plan = told(CHAT, character=marlow(example_message="{{user}}: q"))
        assert plan.to_messages("openai")[0] == {"role": "user", "content": "q", "name": "example_user"}

    def test_escaped_braces_become_braces(self) -> None:
        assert texts(told(plain("{{decbo}}x{{decbc}}"))) == ["{x}"]

    def test_request_triggers_may_rewrite_what_is_sent(self) -> None:
        texts_are = {"indexType": "value", "valueType": "value", "indent": 0}
        change = {"type": "v2SetRequestState", "index": "0", "value": "new", **texts_are}
        trigger = Trigger(type="request", effects=({"type": "v2Header", "code": "", "indent": 0}, change))
        plan = told(plain("old"), character=marlow(triggers=(trigger,)))
        assert texts(plan) == ["new"]
        assert plan.blocks[0].source["id"] == "card:0:plain"

    def test_a_trigger_may_stop_everything(self) -> None:
        with pytest.raises(SendingStopped):
            told(CHAT, character=marlow(triggers=(on_start({"type": "stop"}),)))

    def test_triggers_may_add_messages_and_they_are_not_the_historys(self) -> None:
        effect = {"type": "impersonate", "role": "char", "value": "A gull cries."}
        plan = told(CHAT, character=marlow(triggers=(on_start(effect),)), history=chat("u: one"))
        assert [(b.source["id"], b.content) for b in plan.enabled_blocks[-2:]] == [
            ("message:0", "one"),
            ("trigger:message:1", "A gull cries."),
        ]


class TestBudget:
    def test_the_oldest_of_the_chat_is_dropped(self) -> None:
        plan = told(plain("sys one"), CHAT, history=chat(*LONG), settings=TIGHT, estimator=Words())
        assert [text[:2] for text in texts(plan)] == ["sy", "t1", "t2", "t3", "t4", "t5", "t6", "t7"]
        report = plan.trim_report
        assert report is not None
        assert report.strategy == "oldest_first"
        assert [record.source and record.source["id"] for record in report.evictions] == [
            "new_chat",
            "greeting",
            "message:0",
        ]
        assert {record.reason for record in report.evictions} == {"budget_exceeded"}
        assert report.final_tokens <= report.budget_tokens

    def test_a_message_that_two_cards_show_goes_from_both_places(self) -> None:
        plan = told(CHAT, CHAT, history=chat(*LONG), settings={**TIGHT, "max_context": 460}, estimator=Words())
        kept = [block.content[:2] for block in plan.enabled_blocks]
        assert len(kept) % 2 == 0
        assert kept[: len(kept) // 2] == kept[len(kept) // 2 :]
        assert plan.trim_report is not None
        assert plan.trim_report.eviction_count == len(plan.blocks) - len(kept)

    def test_a_chat_that_fits_is_whole(self) -> None:
        plan = told(CHAT, history=chat(*LONG), settings={**TIGHT, "max_context": 600}, estimator=Words())
        assert plan.trim_report is not None
        assert plan.trim_report.evictions == ()

    def test_what_cannot_fit_is_an_error(self) -> None:
        with pytest.raises(TokenBudgetExceeded):
            told(plain("word " * 500), CHAT, history=chat(*LONG), settings=TIGHT, estimator=Words())

    def test_what_a_hook_adds_is_paid_for_by_the_oldest_messages(self) -> None:
        def add(ctx: Context) -> None:
            ctx.add_block(source="extra", content="word " * 60, removable=False)

        plan = told(CHAT, history=chat(*LONG), settings=TIGHT, estimator=Words(), hooks=hooks(add))
        report = plan.trim_report
        assert report is not None
        assert report.final_tokens <= report.budget_tokens
        assert "extra" in {block.source["id"] for block in plan.enabled_blocks}
        assert plan.enabled_blocks[-2].source["id"] == "message:7"

    def test_lore_that_may_be_ignored_goes_first(self) -> None:
        lore = (always("@@ignore_on_max_context\nlow low low"), always("high high high"))
        plan = told(
            settings={"order": ("lorebook",), "lore_tokens": 4, "model": "custom"}, character=marlow(lore=lore),
            estimator=Words(),
        )  # fmt: skip
        assert texts(plan) == ["high high high"]
        assert [warning.code for warning in plan.warnings] == ["lore_over_budget"]

    @settings(max_examples=30)
    @given(st.lists(st.integers(1, 40), min_size=1, max_size=10), st.integers(330, 700))
    def test_the_end_of_the_chat_is_kept(self, lengths: list[int], window: int) -> None:
        said = [f"{'ua'[n % 2]}: m{n}" + " w" * count for n, count in enumerate(lengths)]
        try:
            plan = told(CHAT, history=chat(*said), settings={**TIGHT, "max_context": window}, estimator=Words())
        except TokenBudgetExceeded:
            return
        kept = [block.content.split()[0] for block in plan.enabled_blocks if block.slot == "history"]
        assert kept == [f"m{n}" for n in range(len(lengths))][len(lengths) - len(kept) :]
        assert kept
        assert plan.trim_report is not None
        assert plan.trim_report.final_tokens <= window


class TestAdditions:
    def test_injections_stand_in_the_chat_or_around_the_character(self) -> None:
        injections = Injections(
            Injection(id="a", content="at one", depth=1),
            Injection(id="b", content="{{user}}!", depth=0),
            Injection(id="c", content="before", position="before"),
            Injection(id="d", content="after", position="after"),
            Injection(id="e", content="never", position="none", scan=True),
        )
        plan = told(history=chat("u: one", "a: two"), settings={"model": "custom"}, injections=injections)
        said = texts(plan)
        assert said[said.index("at one") + 1] == "two"
        assert said[said.index("two") + 1] == "Tess!"
        assert said[said.index("before") + 1] == "Marlow tends the light."
        assert said[said.index("Marlow tends the light.") + 1] == "after"
        assert "never" not in said
        assert [warning.code for warning in plan.warnings] == ["injection_not_scanned"]

    def test_artifacts_enter_as_in_any_prompt(self) -> None:
        after_user = wanted("think", "THINK", mode="append_after_last_user")
        tail = wanted("tail", "TAIL", mode="as_message")
        plan = told(
            CHAT, plain("end"), history=chat("u: one", "a: two"), hooks=hooks(include_artifacts([after_user, tail]))
        )
        assert texts(plan) == ["Hello.", "one", "THINK", "two", "TAIL", "end"]
        assert {decision.reason for decision in inclusion_report(plan).decisions} == {"placed"}

    def test_an_artifact_beside_a_dropped_message_is_settled_after_trimming(self) -> None:
        first = Anchor.parse("relative_to_end(offset=-8, roleFilter=any)")
        moved = wanted("m", "MOVED", operation="insert", anchor=first, depth_policy="relocate_to_nearest")
        gone = wanted("g", "GONE", operation="insert", anchor=first, depth_policy="strict_drop")
        plan = told(
            CHAT, history=chat(*LONG), settings=TIGHT, estimator=Words(), hooks=hooks(include_artifacts([moved, gone]))
        )
        reasons = {decision.artifact: decision.reason for decision in inclusion_report(plan).decisions}
        assert reasons == {"art.m": "relocated", "art.g": "anchor_trimmed"}
        assert "MOVED" in texts(plan)
        assert "GONE" not in texts(plan)

    def test_an_artifact_for_which_there_is_no_room_is_left_out_and_the_chat_is_told(self) -> None:
        much = wanted("much", "word " * 300, mode="as_message")
        little = wanted("little", "RAIN", mode="as_message")
        plan = told(
            CHAT, history=chat(*LONG), settings=TIGHT, estimator=Words(), hooks=hooks(include_artifacts([little, much]))
        )
        reasons = {decision.artifact: decision.reason for decision in inclusion_report(plan).decisions}
        assert reasons == {"art.little": "placed", "art.much": "over_budget"}
        without = told(
            CHAT, history=chat(*LONG), settings=TIGHT, estimator=Words(), hooks=hooks(include_artifacts([little]))
        )
        assert texts(plan) == texts(without)

    def test_a_stage_can_be_put_in(self) -> None:
        def mark(ctx: Context) -> None:
            ctx.blocks = [block.with_(content=block.content.upper()) for block in ctx.blocks]

        plan = told(plain("quiet"), pipeline=prompt_pipeline().insert_before("trimming", "mark", mark))
        assert texts(plan) == ["QUIET"]

    def test_hooks_see_the_inputs_first(self) -> None:
        registry = BuildHooks()

        @registry.before_build
        def rename(ctx: Context) -> None:
            ctx.user = User(name="Robin")

        assert texts(told(plain("{{user}}"), hooks=registry)) == ["Robin"]


class TestStrictness:
    def test_a_strict_build_raises_the_errors_of_the_parts(self) -> None:
        with pytest.raises(CBSSyntaxError):
            told(plain("{{#if 1}}never closed"), strict=True)
        with pytest.raises(DecoratorParseError):
            told(CHAT, character=marlow(lore=(always("@@depth\nx"),)), strict=True)
        with pytest.raises(TokenBudgetExceeded):
            told(CHAT, history=chat(*LONG), settings=TIGHT, estimator=Words(), strict=True)


def test_same_inputs_same_bytes() -> None:
    def once() -> Plan:
        return told(
            plain("{{random::a,b,c,d}} {{roll::20}}"), CHAT, history=chat("u: one"), rng=random.Random(4), trace=True
        )

    assert once().fingerprint() == once().fingerprint()
    assert once().trace is not None


def test_the_history_is_never_changed() -> None:
    history = chat("u: {{setvar::a::1}}one")
    before = [Message.coerce(message) for message in history]
    told(CHAT, history=history)
    assert history == before


def test_settings_are_a_preset() -> None:
    preset = RisuSettings(max_context=1000, max_response=200)
    assert (preset.context_window_tokens, preset.reserved_response_tokens, preset.max_prompt_tokens) == (1000, 200, 800)


@settings(max_examples=40)
@given(st.text("{}#/:|<>@abc \n", max_size=40), st.text("{}#/:@abc\n", max_size=30))
def test_no_text_of_strangers_breaks_a_build(text: str, lore: str) -> None:
    plan = told(plain(text), CHAT, character=marlow(lore=(always(lore),), description=text), history=chat(f"u: {text}"))
    assert all(isinstance(block, Block) for block in plan.blocks)


class TestMacros:
    def test_functions_of_your_own_reach_every_text(self) -> None:
        engine = CBS()
        engine.functions.register("tide", lambda _: "high")
        card = plain("The tide is {{tide}}.")
        assert texts(told(card, CHAT, story=Story(macros=engine)))[0] == "The tide is high."
        assert texts(told(card, CHAT))[0] == "The tide is {{tide}}."

    def test_a_text_that_costs_too_much_is_told_as_it_is_with_a_warning(self) -> None:
        items = "§".join("abcdefghij" * 10)
        hostile = f"{{{{#each {items} x}}}}" * 4 + "{{slot::x}}" + "{{/each}}" * 4
        plan = told(plain(hostile), CHAT, settings={"max_context": 100_000})
        assert "macro_limit" in {warning.code for warning in plan.warnings}
        assert texts(plan)[0].startswith("{{#each ")
