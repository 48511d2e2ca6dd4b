"""What is wrong with a profile, as somebody types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.pipelines.builders import Source, fleeting, kept, pipeline, source, step

from tavernkit.artifacts.pipelines import EXAMPLES, StepFunctions, check_profile, example_source
from tavernkit.values import Json


def problems(*parts: Source, severity: str = "error") -> dict[str, str]:
    return {found.path: found.message for found in check_profile(source(*parts)) if found.severity == severity}


@pytest.mark.parametrize("id", EXAMPLES)
def test_the_examples_have_no_problems(id: str) -> None:
    assert check_profile(example_source(id)) == ()


def test_ids_are_unique() -> None:
    found = problems(pipeline(step("a"), step("a")), pipeline(id="p"))
    assert found["pipelines[0].steps[1].id"] == "pipelines[0].steps[0] has the id 'a' already. Rename one of them."
    assert "has the id 'p' already" in found["pipelines[1].id"]


def test_dependencies_are_known_and_of_the_same_hook() -> None:
    found = problems(step("a", dependsOn=["b", "ghost"]), step("b", hook="after"))
    assert "same hook" in found["pipelines[0].steps[0].dependsOn[0]"]
    assert found["pipelines[0].steps[0].dependsOn[1]"] == "There is no step 'ghost' in this pipeline."


def test_circles_are_named() -> None:
    found = problems(step("a", dependsOn=["b"]), step("b", dependsOn=["a"]), step("c", dependsOn=["a"]))
    assert found == {
        "pipelines[0].steps[0].dependsOn": "'a' depends on itself, through b.",
        "pipelines[0].steps[1].dependsOn": "'b' depends on itself, through a.",
    }
    assert "through nothing else" in problems(step("a", dependsOn=["a"]))["pipelines[0].steps[0].dependsOn"]


def test_r26_r31_pitfall_11_a_tag_collision_is_told_at_both_places_with_both_owners() -> None:
    found = problems(
        pipeline(step("look", artifacts=[kept("mood")]), id="weather"),
        pipeline(step("x"), step("feel", artifacts=[kept("other"), kept("mood")]), id="heart"),
    )
    sentence = "art.mood is made by weather/look and heart/feel. A tag has one writer: rename one of them."
    assert found == {
        "pipelines[0].steps[0].artifacts[0].tag": sentence,
        "pipelines[1].steps[1].artifacts[1].tag": sentence,
    }


def test_r24_names_of_one_run_may_repeat() -> None:
    assert problems(step("a", artifacts=[fleeting("x")]), step("b", artifacts=[fleeting("x")])) == {}


def test_templates_compile() -> None:
    found = problems(
        step("a", template="{% if %}"),
        step("b", "llm", prompt="{{ x | nonsense }}", system="{% for %}"),
        step("c", "guard", template="{{"),
        step("d", "message_transform", template="{% endif %}"),
    )
    assert sorted(path.partition("steps")[2] for path in found) == [
        "[0].template", "[1].prompt", "[1].system", "[2].template", "[3].template",
    ]  # fmt: skip


def test_patterns_and_schemas_are_what_they_claim_to_be() -> None:
    found = problems(
        step("a", "transform", source="reply", rules=[{"pattern": "x"}, {"pattern": "("}]),
        step("b", "llm", schema={"type": "objekt"}),
        step("c", "llm", schema={"$ref": "https://example.org/schema"}),
        step("d", "llm", output="text", schema={"type": "object"}),
    )
    assert "not a regular expression" in found["pipelines[0].steps[0].rules[1].pattern"]
    assert "JSON Schema cannot be used" in found["pipelines[0].steps[1].schema"]
    assert "JSON Schema cannot be used" in found["pipelines[0].steps[2].schema"], "nothing is fetched"
    assert "A schema is for JSON" in found["pipelines[0].steps[3].schema"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/schema"},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"$id": "https://example.org/here", "allOf": [{"$ref": "there"}]},
        {"$defs": {"a": {"$anchor": "a"}}, "$ref": "#a"},
        {"allOf": [{"$dynamicRef": "#a"}]},
        {"allOf": [{"$id": "https://example.org/part", "$ref": "#/$defs/a"}]},
        {"$ref": "#/$defs/ghost"},
    ],
)
def test_a_schema_refers_to_nothing_but_its_own_parts(schema: Json) -> None:
    found = problems(step("a", "llm", schema=schema))
    assert "JSON Schema cannot be used" in found["pipelines[0].steps[0].schema"]
    named = {"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}}
    assert problems(step("a", "llm", schema=named)) == {}


def test_a_profile_has_a_size_that_can_be_checked() -> None:
    circle = [step(f"s{n}", dependsOn=[f"s{n - 1}"]) for n in range(3_000)]
    assert problems(*circle) == {"pipelines": "A profile has at most 200 pipelines and steps. Divide it."}
    many = step("a", artifacts=[kept("x")] * 3_000)
    assert problems(many) == {"pipelines": "A step makes at most 200 artifacts. Divide it."}
    crowd = problems(step("a", artifacts=[kept("x")] * 200))
    assert len(crowd) == 200
    assert crowd["pipelines[0].steps[0].artifacts[0].tag"].startswith(
        "art.x is made by p/a and p/a and p/a and p/a and 196 more. A tag has one writer"
    )


def test_what_is_made_after_the_call_and_gone_before_the_next_cannot_be_in_a_prompt() -> None:
    told = {"visibility": "prompt_only", "promptInclusion": {"mode": "prepend_system"}}
    found = problems(step("a", hook="after", artifacts=[fleeting("x", **told)]))
    assert "no prompt can hold it" in found["pipelines[0].steps[0].artifacts[0].promptInclusion"]
    assert problems(step("a", hook="after", artifacts=[kept("x", **told)])) == {}


def test_r10_an_artifact_of_the_machine_should_not_speak_as_the_user() -> None:
    told = {"visibility": "prompt_only", "promptInclusion": {"mode": "append_after_last_user", "role": "user"}}
    at = "pipelines[0].steps[0].artifacts[0].promptInclusion"
    assert "user's own words" in problems(step("a", artifacts=[fleeting("x", **told)]), severity="warning")[at]
    own = step("a", "message_transform", template="x", artifacts=[fleeting("x", **told)])
    assert problems(own, severity="warning") == {}


def test_rules_for_the_prompt_that_the_visibility_defeats_are_warned_about() -> None:
    hidden = kept("x", visibility="ui_only", promptInclusion={"mode": "prepend_system"})
    assert len(problems(step("a", artifacts=[hidden]), severity="warning")) == 1


def test_the_contract_of_guards() -> None:
    found = problems(
        step("g", "guard", template="true", artifacts=[kept("x")]),
        step("a", runConditions=[{"guard": "g"}]),
        step("b", dependsOn=["a"], runConditions=[{"guard": "a"}]),
    )
    assert "makes no artifact" in found["pipelines[0].steps[0].artifacts"]
    assert "must be in dependsOn" in found["pipelines[0].steps[1].runConditions[0]"]
    assert "is no guard" in found["pipelines[0].steps[2].runConditions[0]"]


def test_r46_what_a_pipeline_may_not_write_is_told_when_it_is_saved() -> None:
    found = problems(
        pipeline(
            step("a", artifacts=[kept("x", kind="commentary")]),
            step("b", artifacts=[kept("y", kind="state")]),
            step("c", "message_transform", "after", template="x"),
            permissions=["state_write"],
        )
    )
    assert "states only" in found["pipelines[0].steps[0].artifacts[0]"]
    assert "permission message_transform" in found["pipelines[0].steps[2].kind"]
    assert "before the main call" in found["pipelines[0].steps[2].hook"]
    assert len(found) == 3


def test_two_wordings_of_one_message_are_warned_about_unless_one_follows_the_other() -> None:
    one, two = (step(id, "message_transform", template="x") for id in "ab")
    assert "Let one depend on the other" in problems(one, two, severity="warning")["pipelines[0].steps[1]"]
    assert problems(one, {**two, "dependsOn": ["a"]}, severity="warning") == {}


BARE: dict[str, tuple[Source, str]] = {
    "template": ({"kind": "template"}, "template"),
    "llm": ({"kind": "llm", "prompt": " "}, "prompt"),
    "llm output": ({"kind": "llm", "prompt": "x", "output": "song"}, "output"),
    "guard": ({"kind": "guard"}, "template"),
    "guard engine": ({"kind": "guard", "template": "true", "engine": "dice"}, "engine"),
    "guard prompt": ({"kind": "guard", "engine": "llm"}, "prompt"),
    "transform": ({"kind": "transform", "rules": [{"pattern": "x"}]}, "source"),
    "transform how": ({"kind": "transform", "source": "reply"}, ""),
    "transform both": ({"kind": "transform", "source": "reply", "rules": [{"pattern": "x"}], "patchSource": "x"}, ""),
    "rule": ({"kind": "transform", "source": "reply", "rules": [{}]}, "rules[0].pattern"),
    "message_transform": ({"kind": "message_transform"}, ""),
    "message rules": ({"kind": "message_transform", "rules": [{"pattern": "("}]}, "rules[0].pattern"),
    "python": ({"kind": "python"}, "function"),
    "kind": ({"kind": "dance"}, "kind"),
    "hook": ({"kind": "template", "template": "x", "hook": "during"}, "hook"),
    "interval": ({"kind": "template", "template": "x", "everyNTurns": 0}, "everyNTurns"),
    "time": ({"kind": "template", "template": "x", "timeoutSeconds": 0}, "timeoutSeconds"),
    "too much time": ({"kind": "template", "template": "x", "timeoutSeconds": 10**400}, "timeoutSeconds"),
    "condition": ({"kind": "template", "template": "x", "runConditions": [{}]}, "runConditions[0].guard"),
    "id": ({"kind": "template", "template": "x", "id": "a/b"}, "id"),
    "long id": ({"kind": "template", "template": "x", "id": "a" * 201}, "id"),
    "invisible id": ({"kind": "template", "template": "x", "id": "a\x00b"}, "id"),
    "pointer": (
        {"kind": "python", "function": "x", "artifacts": [{"tag": "x", "pointer": "a"}]},
        "artifacts[0].pointer",
    ),
    "text": (
        {"kind": "template", "template": "x", "artifacts": [{"tag": "x", "pointer": "/a"}]},
        "artifacts[0].pointer",
    ),
    "json": ({"kind": "llm", "prompt": "x", "output": "json", "artifacts": [{"tag": "x"}]}, "artifacts[0].contentType"),
    "artifact": ({"kind": "template", "template": "x", "artifacts": [{"tag": "Bad Tag"}]}, "artifacts[0]"),
}


@pytest.mark.parametrize("what", BARE)
def test_what_a_step_cannot_do_without_is_told_at_its_place(what: str) -> None:
    fields, place = BARE[what]
    at = "pipelines[0].steps[0]"
    assert list(problems({"id": "s", "hook": "before", **fields})) == [f"{at}.{place}" if place else at]


def test_places_are_right_also_behind_what_cannot_be_read() -> None:
    broken: list[Json] = [3, {"tag": "Bad Tag"}, kept("x", visibility="secret"), kept("y", pointer="/a")]
    found = problems(step("s", artifacts=broken))
    assert sorted(found) == [
        f"pipelines[0].steps[0].artifacts[{place}" for place in ("0]", "1]", "2].visibility", "3].pointer")
    ]


def test_a_pipeline_without_triggers_never_runs() -> None:
    assert "never runs" in problems(pipeline(triggers=[]), severity="warning")["pipelines[0].triggers"]


def test_functions_are_checked_where_they_are_known() -> None:
    used = source(step("a", "python", function="dice"))
    assert check_profile(used) == ()
    assert [found.path for found in check_profile(used, functions=StepFunctions())] == [
        "pipelines[0].steps[0].function"
    ]


def test_unknown_fields_are_warned_about_and_wrong_types_are_errors() -> None:
    used = source(step("a", colour="red", order="first", artifacts=[kept("x", shade="dark")]))
    assert {(found.path.rpartition(".")[2], found.severity) for found in check_profile(used)} == {
        ("colour", "warning"), ("order", "error"), ("shade", "warning"),
    }  # fmt: skip


def test_what_is_no_profile_is_told_too() -> None:
    for broken in (None, [], "x", 3, {"pipelines": 3, "id": "x"}, {"id": "x", "pipelines": [3, {"steps": [None]}]}):
        assert check_profile(broken)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)
FIELDS = st.sampled_from([
    "id", "kind", "hook", "template", "prompt", "schema", "rules", "patch", "source", "dependsOn", "runConditions",
    "everyNTurns", "timeoutSeconds", "artifacts", "order", "required", "sampling", "function", "engine", "output",
])  # fmt: skip
WORDS = st.sampled_from(["template", "llm", "guard", "transform", "message_transform", "python", "before", "{{ x", "a"])
STEPS = st.dictionaries(FIELDS, JSON | WORDS | st.lists(JSON | WORDS, max_size=2), max_size=9)


@given(steps=st.lists(STEPS | JSON, max_size=3), other=JSON)
def test_checking_never_raises(steps: list[Json], other: Json) -> None:
    check_profile(other)
    check_profile({"id": other, "pipelines": [{"id": "p", "triggers": other, "steps": steps}]})
