"""What each kind of step does."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.artifacts.pipelines.builders import (
    Answer,
    Source,
    Theatre,
    context,
    fleeting,
    kept,
    play,
    profile,
    reports,
    statuses,
    step,
)

from tavernkit import Message
from tavernkit.artifacts import MemoryStore
from tavernkit.artifacts.pipelines import STEP_FUNCTIONS, ModelRequest, ModelUsage, StepFunctionCall, StepFunctions
from tavernkit.load_hooks import LoadHooks
from tavernkit.values import Json


def made(template: str, **fields: Json) -> str:
    """What a template prints before the main call."""
    barrier, _ = play(context(profile(step("a", template=template, artifacts=[fleeting("out")])), **fields))
    printed = barrier.view.run_values()["out"]
    assert isinstance(printed, str)
    return printed


class TestTemplate:
    def test_it_sees_the_characters_and_the_chat(self) -> None:
        assert made("{{ char }}/{{ char.description }}/{{ user }}/{{ user.persona }}/{{ persona }}/{{ scenario }}") == (
            "Mira/A pilot./Robin/Repairs pianos./Repairs pianos./A harbour."
        )
        assert made("{{ lastUserMessage }}/{{ lastAssistantMessage }}/{{ now | date: '%Y' }}") == (
            "I can wait./The ferry is late./2026"
        )
        assert made("{{ messages.size }} {{ messages[0].role }} {{ recentMessages | map: 'role' | join }}") == (
            "2 assistant assistant user"
        )
        assert made("{{ recentMessagesText }}") == "Mira: The ferry is late.\n\nRobin: I can wait."

    def test_the_application_can_say_more_and_the_text_of_the_card_otherwise(self) -> None:
        said = made("{{ description }} {{ wiBefore }}", values={"description": "Mira flies.", "wiBefore": "Fog."})
        assert said == "Mira flies. Fog."

    def test_helpers_are_plain_lists(self) -> None:
        first = "{% assign first = messages.size | minus: 1 %}"
        assert made(first + "{% for one in messages offset: first %}{{ one.content }}{% endfor %}") == "I can wait."

    def test_pitfall_13_what_looks_like_a_template_in_a_value_is_not_rendered(self) -> None:
        trap = (Message(role="user", content="{{ char.description }}{% raw %}"),)
        assert made("{{ lastUserMessage }}", messages=trap) == "{{ char.description }}{% raw %}"
        steps = [
            step("a", template="{{ lastUserMessage }}", artifacts=[fleeting("one")]),
            step("b", template="{{ run.one }}", dependsOn=["a"], artifacts=[fleeting("two")]),
        ]
        barrier, _ = play(context(profile(*steps), messages=trap))
        assert barrier.view.run_values()["two"] == "{{ char.description }}{% raw %}"

    def test_pitfall_13_chance_is_repeatable_and_does_not_depend_on_other_steps(self) -> None:
        template = "{% assign l = '1 2 3 4 5 6 7 8' | split: ' ' %}{{ l | sample }}{{ l | sample }}{{ l | sample }}"
        assert made(template) == made(template)
        assert len({made(template, seed=str(seed)) for seed in range(5)}) > 1

    @pytest.mark.parametrize("kind", ["template", "guard", "message_transform", "llm"])
    def test_a_costly_one_holds_up_nothing_and_is_left_when_its_time_is_over(self, kind: str) -> None:
        costly = "{% for i in (1..30000) %}{{ i }}{% endfor %}"
        late = step("a", kind, timeoutSeconds=0.02, **{"prompt" if kind == "llm" else "template": costly})
        _, report = play(context(profile(late)))
        assert reports(report)["a"].code == "timeout"

    def test_a_template_that_fails_is_a_sentence_not_an_exception(self) -> None:
        _, report = play(context(profile(step("a", template="{% for i in (1..1000000) %}x{% endfor %}"))))
        assert (reports(report)["a"].code, report.status) == ("template_error", "done")

    def test_a_template_can_make_json(self) -> None:
        used = profile(step("a", template='{"n": {{ 1 | plus: 1 }}}', artifacts=[fleeting("x", contentType="json")]))
        assert play(context(used))[0].view.run_values() == {"x": {"n": 2}}
        broken = profile(step("a", template="{", artifacts=[fleeting("x", contentType="json")]))
        assert reports(play(context(broken))[1])["a"].code == "artifact_invalid"


SCHEMA = {"type": "object", "properties": {"hp": {"type": "integer"}}, "required": ["hp"]}


def ask(answers: list[Answer], **fields: Json) -> tuple[Theatre, Json, str | None]:
    artifact = fleeting("out", contentType="text" if fields.get("output") == "text" else "json")
    theatre = Theatre({"p/a": answers})
    used = profile(step("a", "llm", artifacts=[artifact], **fields))
    barrier, report = play(context(used), theatre)
    return theatre, barrier.view.run_values().get("out"), reports(report)["a"].code


class TestLlm:
    def test_its_model_and_sampling_are_its_own(self) -> None:
        theatre, value, _ = ask(
            ["  Fine. "], output="text", provider="other", model="small", sampling={"temperature": 0},
            system="You are {{ char }}.", prompt="{{ lastUserMessage }}",
        )  # fmt: skip
        request = theatre.calls[0]
        assert value == "Fine."
        assert (request.provider, request.model, request.sampling) == ("other", "small", {"temperature": 0})
        assert [(one.role, one.content) for one in request.messages] == [
            ("system", "You are Mira."),
            ("user", "I can wait."),
        ]

    @pytest.mark.parametrize("answer", ['{"hp": 3}', 'Here:\n```json\n{"hp": 3}\n```\nDone.', 'So: {"hp": 3}!'])
    def test_pitfall_6_json_is_stored_as_values(self, answer: str) -> None:
        theatre = Theatre({"p/a": answer})
        used = profile(
            step("a", "llm", schema=SCHEMA, artifacts=[kept("x", contentType="json")]),
            step("b", template="{{ art.x.value.hp | plus: 1 }}", dependsOn=["a"], artifacts=[fleeting("y")]),
        )
        barrier, _ = play(context(used), theatre)
        assert barrier.view["x"].value == {"hp": 3}
        assert barrier.view.run_values()["y"] == "4"

    def test_a_text_that_is_json_stays_the_text_it_is(self) -> None:
        assert ask(['"hp"'], output="json")[1] == "hp"

    def test_the_schema_is_given_to_the_model_and_one_repair_is_asked_for(self) -> None:
        theatre, value, code = ask(['{"hp": "three"}', '{"hp": 3}'], schema=SCHEMA)
        assert (value, code) == ({"hp": 3}, None)
        first, second = theatre.calls
        assert (first.json_schema, second.attempt) == (SCHEMA, 2)
        assert [one.role for one in second.messages] == ["user", "assistant", "user"]
        assert 'At /hp: the value is not of type "integer".' in second.messages[-1].content

    def test_there_is_no_third_attempt_and_the_failure_does_not_quote_the_answer(self) -> None:
        theatre, value, code = ask(["secret", '{"hp": "secret"}', '{"hp": 3}'], schema=SCHEMA)
        assert (value, code, len(theatre.calls)) == (None, "json_invalid", 2)
        assert "secret" not in repr(theatre.events)
        assert "asked twice: /properties/hp/type of the schema is not kept." in repr(theatre.events)

    def test_g22_the_failure_does_not_name_the_keys_of_an_answer_either(self) -> None:
        strict = {"propertyNames": {"maxLength": 3}, "additionalProperties": {"type": "integer"}}
        theatre, _, code = ask(['{"the secret": "x"}'] * 2, schema=strict)
        assert code == "json_invalid"
        assert "the secret" in theatre.calls[1].messages[-1].content, "the model is told what it has done"
        assert "secret" not in repr(theatre.events)

    def test_a_schema_that_asks_for_endless_work_fails_the_step_at_once(self) -> None:
        doubled = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2} for n in range(1, 40)}
        bomb = {"$defs": {"d0": {}, **doubled}, "$ref": "#/$defs/d39"}
        tree = {"items": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}
        circle = {"allOf": [{"$ref": "#"}]}
        deep = "[" * 60 + "]" * 60
        for schema, answer in ((bomb, "{}"), (tree, deep), (circle, "{}")):
            theatre, value, code = ask([answer], schema=schema)
            assert (value, code, len(theatre.calls)) == (None, "schema_too_costly", 1)

    def test_a_schema_may_refer_to_itself(self) -> None:
        tree = {
            "$defs": {"a leaf": {"type": "integer"}},
            "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "leaf": {"$ref": "#/$defs/a%20leaf"}},
        }
        grown: Json = {"leaf": 1}
        for _ in range(8):
            grown = {"left": grown, "right": grown}
        assert ask([json.dumps(grown)], schema=tree)[1] == grown
        assert ask(['{"left": {"leaf": "x"}}'] * 2, schema=tree)[2] == "json_invalid"

    def test_half_a_character_is_a_reason_to_ask_again(self) -> None:
        schema = {"properties": {"name": {"pattern": "[a-z]"}}}
        theatre, value, _ = ask(['{"name": "\\ud800"}', '{"name": "Zoë"}'], schema=schema)
        assert value == {"name": "Zoë"}
        assert "half of a character" in theatre.calls[1].messages[-1].content

    def test_what_is_wrong_is_told_in_sentences_of_bearable_length(self) -> None:
        schema = {"additionalProperties": {"type": "integer"}}
        theatre, _, _ = ask([json.dumps({f"{n}{'x' * 9_999}": "y" for n in range(99)})] * 2, schema=schema)
        assert len(theatre.calls[1].messages[-1].content) < 4_000

    def test_what_it_cost_is_reported(self) -> None:
        _, report = play(context(profile(step("a", "llm"))), Theatre())
        usage = reports(report)["a"].usage
        assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 10, 5)

    def test_an_answer_that_is_asked_for_twice_costs_twice_also_if_it_cannot_be_used(self) -> None:
        answers = Theatre({"p/a": ["no", "still no"]})
        _, report = play(context(profile(step("a", "llm", output="json"))), answers)
        told = reports(report)["a"]
        assert (told.code, told.usage) == (
            "json_invalid",
            ModelUsage(calls=2, prompt_tokens=20, completion_tokens=10),
        )

    def test_what_was_used_for_an_answer_that_nobody_waited_for_counts(self) -> None:
        half = ModelUsage(calls=1, prompt_tokens=10, completion_tokens=2, cost=0.5)

        async def never(request: ModelRequest) -> str:
            request.spent(half)
            await asyncio.Event().wait()
            return ""

        late = step("a", "llm", timeoutSeconds=0.5)
        _, report = play(context(profile(late)), Theatre({"p/a": never}))
        assert (reports(report)["a"].code, reports(report)["a"].usage) == ("timeout", half)

    def test_a_model_that_fails_fails_the_step_and_strange_errors_are_not_quoted(self) -> None:
        theatre, _, code = ask([RuntimeError("secret")], output="text")
        assert code == "unexpected_error"
        assert "secret" not in repr(theatre.events)

    def test_time_is_limited(self) -> None:
        async def never(_: object) -> str:
            await asyncio.Event().wait()
            return ""

        assert ask([never], output="text", timeoutSeconds=0.01)[2] == "timeout"


def transformed(content: Json, answers: dict[str, Answer] | None = None, **fields: Json) -> tuple[Json, str | None]:
    kind = "text" if isinstance(content, str) else "json"
    first = step("a", "llm", output=kind, artifacts=[fleeting("input", contentType=kind)])
    makes = "text" if "rules" in fields else "json"
    second = step("b", "transform", dependsOn=["a"], artifacts=[fleeting("out", contentType=makes)], **fields)
    theatre = Theatre({"p/a": content if isinstance(content, str) else json.dumps(content), **(answers or {})})
    barrier, report = play(context(profile(first, second)), theatre)
    return barrier.view.run_values().get("out"), reports(report)["b"].code


class TestTransform:
    def test_rules_are_javascript_one_after_the_other(self) -> None:
        rules = [{"pattern": "(?<w>[a-z]+) (\\d)", "replacement": "$2 $<w>"}, {"pattern": "X", "flags": "gi"}]
        assert transformed("tea 2 xx", source="run.input", rules=rules) == ("2 tea ", None)

    def test_a_hostile_pattern_runs_out_of_time(self) -> None:
        rules = [{"pattern": "^(a+)+$"}]
        assert transformed("a" * 40 + "b", source="run.input", rules=rules)[1] == "regex_error"

    def test_a_json_patch_is_all_or_nothing(self) -> None:
        good = [{"op": "replace", "path": "/hp", "value": 2}, {"op": "add", "path": "/items/-", "value": "rope"}]
        assert transformed({"hp": 3, "items": []}, source="run.input", patch=good)[0] == {"hp": 2, "items": ["rope"]}
        bad = [*good, {"op": "remove", "path": "/ghost"}]
        assert transformed({"hp": 3, "items": []}, source="run.input", patch=bad) == (None, "json_patch_error")

    def test_a_patch_that_a_model_made_cannot_fill_the_memory(self) -> None:
        bomb: Json = [{"op": "copy", "from": "", "path": "/-"}] * 60
        assert transformed(bomb, source="run.input", patchSource="run.input") == (None, "json_patch_error")

    def test_g22_what_is_wrong_with_a_patch_that_a_model_made_does_not_quote_it(self) -> None:
        first = step("a", "llm", output="json", artifacts=[fleeting("input", contentType="json")])
        second = step("b", "transform", dependsOn=["a"], source="run.input", patchSource="run.input")
        theatre = Theatre({"p/a": '[{"op": "remove", "path": "/the secret"}]'})
        _, report = play(context(profile(first, second)), theatre)
        failed = reports(report)["b"]
        assert (failed.code, failed.message) == (
            "json_patch_error",
            "Operation 0 of the JSON patch cannot be done.",
        )
        assert "secret" not in repr(theatre.events)

    def test_rules_that_double_a_text_again_and_again_run_out_of_memory_that_they_may_have(self) -> None:
        rules = [{"pattern": "[^]+", "replacement": "$&$&"}] * 60
        assert transformed("x" * 100, source="run.input", rules=rules)[1] == "regex_error"

    def test_another_step_can_make_the_patch(self) -> None:
        patch = [{"op": "add", "path": "/door", "value": "open"}]
        fields: Source = {"source": "art.world.value", "default": {}, "patchSource": "run.input"}
        assert transformed(patch, **fields) == ({"door": "open"}, None)

    def test_a_source_that_is_missing_or_of_another_type_is_told(self) -> None:
        assert transformed("x", source="run.ghost", rules=[{"pattern": "x"}])[1] == "source_missing"
        assert transformed({}, source="run.input", rules=[{"pattern": "x"}])[1] == "source_type"
        assert transformed({}, source="run.input", patchSource="run.input")[1] == "source_type"


class TestMessageTransform:
    def test_the_raw_input_is_kept_and_the_model_is_told_the_new_wording(self) -> None:
        used = profile(
            step("a", "message_transform", template="{{ lastUserMessage }} (rolls 4)", label="dice_enriched"),
            step("b", "message_transform", rules=[{"pattern": "4", "replacement": "four"}], dependsOn=["a"]),
            step("c", hook="after", template="{{ lastUserMessage }}|{{ rawUserMessage }}", artifacts=[kept("x")]),
        )
        theatre = Theatre()
        barrier, _ = play(context(used), theatre)
        assert barrier.user_message == "I can wait. (rolls four)"
        assert barrier.raw_user_message == "I can wait."
        assert asyncio.run(theatre.view())["x"].value == "I can wait. (rolls four)|I can wait."

    def test_pitfall_7_every_wording_is_handed_to_whoever_saves_the_message(self) -> None:
        used = profile(
            step("a", "message_transform", template="One.", label="normalized", select=False),
            step("b", "message_transform", template="Two."),
        )
        barrier, _ = play(context(used))
        assert [(one.step, one.label, one.text, one.selected) for one in barrier.wordings] == [
            ("a", "normalized", "One.", False),
            ("b", "rewritten", "Two.", True),
        ]
        assert barrier.user_message == "Two."

    def test_only_the_current_message_changes(self) -> None:
        talk = tuple(Message(role="user", content=text) for text in ("one", "two"))
        used = profile(
            step("a", "message_transform", template="TWO"),
            step("b", template="{{ messages | map: 'content' | join }}", dependsOn=["a"], artifacts=[fleeting("x")]),
        )
        assert play(context(used, messages=talk))[0].view.run_values()["x"] == "one TWO"

    def test_a_message_cannot_become_nothing(self) -> None:
        barrier, report = play(context(profile(step("a", "message_transform", template=" "))))
        assert (barrier.user_message, reports(report)["a"].code) == ("I can wait.", "message_empty")


def gated(guard: Source, answers: dict[str, Answer | list[Answer]] | None = None) -> dict[str, str]:
    used = profile(
        guard,
        step("yes", dependsOn=["g"], runConditions=[{"guard": "g"}]),
        step("no", dependsOn=["g"], runConditions=[{"guard": "g", "equals": False}]),
    )
    return statuses(play(context(used), Theatre(answers))[1])


class TestGuard:
    def test_a_template_gates_other_steps(self) -> None:
        talks = step("g", "guard", template="{% if messages.size > 1 %}true{% else %}false{% endif %}")
        assert gated(talks) == {"g": "done", "yes": "done", "no": "guard_not_matched"}
        assert gated(step("g", "guard", template=" False "))["no"] == "done"

    def test_it_says_true_or_false_and_nothing_else(self) -> None:
        assert gated(step("g", "guard", template="perhaps")) == {
            "g": "error",
            "yes": "dependency_failed",
            "no": "dependency_failed",
        }

    def test_a_model_is_asked_for_yes_or_no_and_once_more_if_it_rambles(self) -> None:
        guard = step("g", "guard", engine="llm", prompt="Is it late?")
        assert gated(guard, {"p/g": "Yes, very."})["yes"] == "done"
        assert gated(guard, {"p/g": ["The ferry", "no"]})["no"] == "done"
        assert gated(guard, {"p/g": ["Hm", "Hm", "yes"]})["g"] == "error"


class TestPython:
    def test_registered_functions_come_through_load_hooks(self) -> None:
        async def dice(call: StepFunctionCall) -> Json:
            sides: int = call.arguments["sides"]
            return {"roll": 1 + int(call.random() * sides), "for": str(call.values["lastUserMessage"])}

        hooks, functions = LoadHooks(), StepFunctions()
        hooks.on_load(STEP_FUNCTIONS, lambda registry: registry.register("dice", dice))
        hooks.run(STEP_FUNCTIONS, functions)
        used = profile(
            step("a", "python", function="dice", arguments={"sides": 6}, artifacts=[
                fleeting("roll", contentType="json", pointer="/roll"), fleeting("why", pointer="/for"),
            ])
        )  # fmt: skip
        values = [play(context(used), Theatre(functions=functions))[0].view.run_values() for _ in range(2)]
        assert values[0] == values[1]
        assert values[0]["why"] == "I can wait."
        assert values[0]["roll"] in range(1, 7)

    def test_a_name_that_nobody_knows_fails_the_step_and_one_that_is_taken_the_program(self) -> None:
        assert reports(play(context(profile(step("a", "python", function="x"))))[1])["a"].code == "function_unknown"

        async def nothing(_: StepFunctionCall) -> Json:
            return None

        functions = StepFunctions()
        functions.register("x", nothing)
        with pytest.raises(ValueError, match="registered already"):
            functions.register("x", nothing)

    @pytest.mark.parametrize("odd", [{1, 2}, float("nan"), {"a": object()}, {1: "a"}, b"x"])
    def test_an_output_that_is_no_json_fails_the_step_also_where_nothing_is_made_of_it(self, odd: Json) -> None:
        async def strange(_: StepFunctionCall) -> Json:
            return odd

        functions = StepFunctions()
        functions.register("strange", strange)
        _, report = play(context(profile(step("s", "python", function="strange"))), Theatre(functions=functions))
        assert (reports(report)["s"].code, report.status) == ("artifact_invalid", "done")

    def test_an_output_without_what_the_pointer_wants_fails_the_step_as_a_whole(self) -> None:
        async def half(_: StepFunctionCall) -> Json:
            return {"a": "there"}

        functions = StepFunctions()
        functions.register("half", half)
        theatre = Theatre(functions=functions, store=MemoryStore())
        used = profile(
            step("s", "python", function="half", artifacts=[kept("a", pointer="/a"), kept("b", pointer="/b")])
        )
        _, report = play(context(used), theatre)
        assert reports(report)["s"].code == "json_patch_error"
        assert asyncio.run(theatre.view()).art() == {}
