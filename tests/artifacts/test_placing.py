"""Artifacts in the prompt: where each stands, in which order, and what is said about those that do not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.artifacts.builders import (
    MIRA,
    ROBIN,
    STORY,
    artifact,
    chat,
    inclusion,
    inclusion_report,
    plan_with,
    reasons,
    said,
    version,
    wanted,
)

import tavernkit.sillytavern
from tavernkit import (
    BudgetPreset,
    BuildHooks,
    Character,
    Injection,
    Injections,
    InMemoryHistory,
    Message,
    Plan,
    StrictModeError,
    build,
)
from tavernkit.artifacts import Anchor, PromptCandidate, Surface, include_artifacts
from tavernkit.sillytavern import Story, UserSettings
from tavernkit.sillytavern.presets import ChatPreset, Instruct, TextPreset
from tavernkit.values import Json

LAST_USER = Anchor(selector="after_last_user")
LAST_ASSISTANT = Anchor(selector="before_last_assistant")


def at_end(offset: int, role: str = "any") -> Anchor:
    return Anchor.parse(f"relative_to_end(offset={offset}, roleFilter={role})")


class Letters:
    """Every letter is a token."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text)


def squeezed(*candidates: PromptCandidate, keeps: int) -> Plan:
    """A prompt with room for the last `keeps` messages of a story of ten, and for the artifacts."""
    story = chat(*(f"{'ua'[place % 2]}: m{place}" for place in range(10)))
    card = Character(name="Mira", system_prompt="S")
    per_message, system, overhead = 2, 1, 4
    room = system + overhead + keeps * (per_message + overhead)
    room += sum(len(candidate.versions[-1].content) + overhead for candidate in candidates)
    return plan_with(
        *candidates,
        history=story,
        character=card,
        estimator=Letters(),
        preset=BudgetPreset(context_window_tokens=room, reserved_response_tokens=0),
    )


def test_r4_a_panel_artifact_enters_the_prompt_if_visibility_and_rules_allow_it() -> None:
    panel = {"surface": Surface.parse("panel:rpg_state")}
    for visibility, included in (
        ("prompt_and_ui", True),
        ("prompt_only", True),
        ("ui_only", False),
        ("internal", False),
    ):
        plan = plan_with(wanted("state", "HP 3", mode="as_message", about={**panel, "visibility": visibility}))
        assert ("HP 3" in said(plan)) is included
        assert reasons(plan) == {"state": "placed" if included else "not_visible"}
    without_rules = PromptCandidate(artifact=artifact("state", visibility="prompt_only"), versions=(version(),))
    assert not inclusion_report(plan_with(without_rules)).decisions


def test_r6_the_plan_explains_every_decision() -> None:
    plan = plan_with(wanted("a", "A", mode="as_message"), wanted("b", " ", mode="as_message"))
    report = inclusion_report(plan)
    assert [decision.artifact for decision in report.included] == ["art.a"]
    assert [(decision.artifact, decision.reason) for decision in report.left_out] == [("art.b", "empty")]
    assert (report.included[0].versions, report.included[0].role) == ((1,), "developer")


def test_r7_each_mode_has_its_place() -> None:
    plan = plan_with(
        wanted("tail", "TAIL", mode="as_message"),
        wanted("think", "THINK", mode="append_after_last_user"),
        wanted("first", "FIRST", mode="prepend_system"),
        history=chat("u: one", "a: two"),
    )
    contents = [message.content for message in plan.messages]
    assert contents[0] == "FIRST"
    assert contents[2:] == ["one", "THINK", "two", "TAIL"]


def test_r9_the_plan_speaks_in_our_own_roles() -> None:
    plan = plan_with(wanted("note", "NOTE", mode="as_message"))
    assert plan.messages[-1].role == "developer"
    assert plan.to_messages("openai")[-1] == {"role": "system", "content": "NOTE"}


def test_r10_a_projection_of_the_users_words_keeps_the_users_role() -> None:
    plan = plan_with(wanted("clean", "Five, please.", operation="replace", anchor=LAST_USER))
    assert (plan.messages[-1].role, plan.messages[-1].content) == ("user", "Five, please.")


def test_r11_the_four_operations() -> None:
    plan = plan_with(
        wanted("inserted", "INSERT", operation="insert", anchor=LAST_USER),
        wanted("replaced", "REPLACED", operation="replace", anchor=at_end(-3)),
        wanted("wrapped", {"pre": "PRE", "post": "POST"}, operation="wrap", anchor=at_end(-2)),
        wanted("merged", "SECTION", operation="merge_section", section="weather"),
    )
    assert said(plan) == ["SECTION", "one", "two", "REPLACED", "PRE\n\nfour\n\nPOST", "five", "INSERT"]


def test_r12_the_system_can_be_replaced_whole_or_in_part() -> None:
    card = Character(name="Mira", description="Paints.", scenario="A harbour.")
    whole = plan_with(wanted("x", "ALL NEW", operation="replace"), character=card)
    assert [message.content for message in whole.messages][:2] == ["ALL NEW", "one"]
    part = plan_with(wanted("x", "A desert.", operation="replace", section="scenario"), character=card)
    assert [message.content for message in part.messages][1:3] == ["Paints.", "A desert."]
    missing = plan_with(wanted("x", "?", operation="replace", section="nowhere"), character=card)
    assert reasons(missing) == {"x": "section_not_found"}
    assert [warning.code for warning in missing.warnings] == ["artifact_left_out"]


def test_r13_only_the_prompt_changes_never_the_chat() -> None:
    history = InMemoryHistory(STORY)
    before = list(history)
    plan_with(
        wanted("a", "NEW", operation="replace", anchor=LAST_USER),
        wanted("b", "PRE", operation="wrap", anchor=LAST_ASSISTANT),
        history=history,
    )
    assert list(history) == before


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [
        ("after_last_user", ["one", "two", "three", "four", "five", "X"]),
        ("before_last_assistant", ["one", "two", "three", "X", "four", "five"]),
        ("after_message_id:m1", ["one", "two", "X", "three", "four", "five"]),
        ("relative_to_end(offset=-4)", ["one", "X", "two", "three", "four", "five"]),
        ("relative_to_end(offset=-2, roleFilter=user)", ["one", "two", "X", "three", "four", "five"]),
        ("relative_to_end(offset=0)", ["one", "two", "three", "four", "five", "X"]),
        ("relative_to_anchor(anchor=after_last_user, offset=-2)", ["one", "two", "X", "three", "four", "five"]),
        ("relative_to_anchor(anchor=before_last_assistant, offset=0)", ["one", "two", "three", "X", "four", "five"]),
    ],
)
def test_r14_the_five_anchors(anchor: str, expected: list[str]) -> None:
    assert said(plan_with(wanted("x", "X", anchor=Anchor.parse(anchor)))) == expected


@pytest.mark.parametrize(
    ("place", "expected"),
    [("before", ["four", "X", "five"]), ("after", ["four", "five", "X"]), ("replace", ["three", "four", "X"]),
     ("wrap", ["three", "four", "X\n\nfive"])],
)  # fmt: skip
def test_r15_the_four_places(place: str, expected: list[str]) -> None:
    assert said(plan_with(wanted("x", "X", anchor=LAST_USER, place=place)))[-3:] == expected


def test_r16_strict_drop_leaves_it_out_when_its_anchor_was_trimmed() -> None:
    plan = squeezed(wanted("x", "XXXX", anchor=at_end(-5)), keeps=3)
    assert said(plan) == ["m7", "m8", "m9"]
    assert reasons(plan) == {"x": "anchor_trimmed"}


def test_r16_clamp_stands_before_the_oldest_message_that_is_left() -> None:
    plan = squeezed(wanted("x", "XXXX", anchor=at_end(-5), depth_policy="clamp_to_oldest_kept"), keeps=3)
    assert said(plan) == ["XXXX", "m7", "m8", "m9"]
    assert reasons(plan) == {"x": "clamped"}


def test_r16_relocate_stands_beside_the_nearest_message_that_is_left() -> None:
    plan = squeezed(
        wanted("any", "XXXX", anchor=at_end(-5), depth_policy="relocate_to_nearest", place="after"),
        wanted("user", "YYYY", anchor=at_end(-3, "user"), depth_policy="relocate_to_nearest"),
        keeps=3,
    )
    assert said(plan) == ["m7", "XXXX", "YYYY", "m8", "m9"]
    assert reasons(plan) == {"any": "relocated", "user": "relocated"}


@pytest.mark.parametrize("keeps", [3, 5, 8, 10])
def test_r16_the_place_does_not_depend_on_what_was_trimmed(keeps: int) -> None:
    plan = squeezed(wanted("x", "XXXX", anchor=at_end(-2)), keeps=keeps)
    assert said(plan)[-3:] == ["XXXX", "m8", "m9"]


def test_r17_phases_come_first_then_priorities() -> None:
    everything = [
        wanted("tail", "TAIL", phase="tail"),
        wanted("late", "LATE", mode="append_after_last_user", priority=2),
        wanted("soon", "SOON", mode="append_after_last_user", priority=-1),
        wanted("early", "EARLY", phase="early"),
        wanted("near", "NEAR", anchor=at_end(-2)),
        wanted("system", "SYSTEM", phase="system"),
    ]
    assert said(plan_with(*everything)) == (
        ["SYSTEM", "EARLY", "one", "two", "three", "NEAR", "four", "five", "SOON", "LATE", "TAIL"]
    )


def test_r18_ties_are_broken_by_step_then_tag_then_version() -> None:
    rules: dict[str, Any] = {"mode": "as_message"}
    plan = plan_with(
        wanted("b", "4", order=(1, 0), **rules),
        wanted("a", "5", order=(1, 1), **rules),
        wanted("z", "1", order=(0, 1), **rules),
        wanted("a_", "3", order=(0, 2), **rules),
        wanted("a", "2", order=(0, 2), **rules),
    )
    assert said(plan)[-5:] == ["1", "2", "3", "4", "5"]
    fleeting: dict[str, Any] = {"access": "run_only", "visibility": "prompt_only"}
    normal = inclusion(**rules)
    nameless = [
        PromptCandidate(artifact=artifact(None, id=id, inclusion=normal, **fleeting), versions=(version(number, text),))
        for id, number, text in (("b", 10, "4"), ("a", 10, "3"), ("y", 9, "2"), ("z", 2, "1"))
    ]
    assert said(plan_with(*nameless))[-4:] == ["1", "2", "3", "4"], "versions are numbers, and ids come last"


def test_r22_reasoning_never_reaches_the_prompt() -> None:
    for visibility in ("ui_only", "internal"):
        about = {"kind": "reasoning", "visibility": visibility}
        plan = plan_with(wanted("thoughts", "SECRET", mode="as_message", about=about))
        assert "SECRET" not in "".join(message.content for message in plan.messages)


def test_g2_anchors_count_messages_and_never_what_is_put_in() -> None:
    crowd = [wanted(f"n{number}", f"N{number}", anchor=at_end(-1)) for number in range(4)]
    plan = plan_with(*crowd, wanted("two_back", "HERE", anchor=at_end(-2)))
    assert said(plan)[-7:] == ["HERE", "four", "N0", "N1", "N2", "N3", "five"]


def test_g2_anchors_do_not_count_injections_or_what_the_narrator_says() -> None:
    history = chat("u: one", "a: two", "s: It rains.", "u: three")
    plan = plan_with(wanted("x", "X", anchor=at_end(-2)), history=history)
    assert said(plan) == ["one", "X", "two", "It rains.", "three"]


def test_g3_exactly_k_matching_messages_follow() -> None:
    for k in range(1, 6):
        contents = said(plan_with(wanted("x", "X", anchor=at_end(-k))))
        assert len(contents) - contents.index("X") - 1 == k


def test_g3_a_chat_that_is_too_short_is_for_the_depth_policy() -> None:
    assert reasons(plan_with(wanted("x", "X", anchor=at_end(-9)))) == {"x": "anchor_trimmed"}
    clamped = plan_with(wanted("x", "X", anchor=at_end(-9), depth_policy="clamp_to_oldest_kept"))
    assert said(clamped)[0] == "X"
    assert reasons(clamped) == {"x": "clamped"}


def test_g3_relative_to_anchor_counts_every_message_from_there() -> None:
    anchor = Anchor.parse("relative_to_anchor(anchor=before_last_assistant, offset=-2)")
    assert said(plan_with(wanted("x", "X", anchor=anchor)))[:3] == ["one", "X", "two"]
    too_far = Anchor.parse("relative_to_anchor(anchor=before_last_assistant, offset=-20)")
    assert reasons(plan_with(wanted("x", "X", anchor=too_far))) == {"x": "anchor_trimmed"}


def test_g4_what_is_included_is_paid_for_before_the_chat() -> None:
    without = squeezed(keeps=5)
    note = wanted("x", "X" * 14, mode="append_after_last_user")
    assert without.trim_report is not None
    room = BudgetPreset(context_window_tokens=without.trim_report.budget_tokens, reserved_response_tokens=0)
    story = chat(*(f"{'ua'[place % 2]}: m{place}" for place in range(10)))
    plan = plan_with(
        note, history=story, character=Character(name="Mira", system_prompt="S"), estimator=Letters(), preset=room
    )
    assert said(plan) == ["m8", "X" * 14, "m9"]
    assert plan.trim_report is not None
    assert plan.trim_report.final_tokens <= room.max_prompt_tokens


def test_g4_trimming_happens_once() -> None:
    """What is dropped after trimming gives its room to nobody: otherwise one would go round and round."""
    plan = squeezed(wanted("x", "X" * 12, anchor=at_end(-9)), keeps=3)
    assert said(plan) == ["m7", "m8", "m9"]


def test_g5_clamping_keeps_the_order_of_the_artifacts() -> None:
    plan = squeezed(
        wanted("c", "CCCC", anchor=at_end(-3), priority=1),
        wanted("b", "BBBB", anchor=at_end(-9), depth_policy="clamp_to_oldest_kept"),
        wanted("a", "AAAA", anchor=at_end(-8), depth_policy="clamp_to_oldest_kept", place="after"),
        keeps=3,
    )
    assert said(plan) == ["AAAA", "BBBB", "CCCC", "m7", "m8", "m9"]


@pytest.mark.parametrize("policy", ["strict_drop", "clamp_to_oldest_kept", "relocate_to_nearest"])
@pytest.mark.parametrize("operation", ["replace", "wrap"])
def test_g5_another_message_is_never_rewritten(operation: str, policy: str) -> None:
    plan = squeezed(wanted("x", "XXXX", operation=operation, anchor=at_end(-9), depth_policy=policy), keeps=4)
    assert all("XXXX" not in content for content in said(plan))
    assert reasons(plan) == {"x": "anchor_trimmed"}


def test_g5_without_a_user_message_the_tail_stands_in() -> None:
    plan = plan_with(wanted("x", "X", mode="append_after_last_user"), history=chat("a: Hello."))
    assert said(plan) == ["Hello.", "X"]
    assert reasons(plan) == {"x": "placed"}
    assert said(plan_with(wanted("x", "X", mode="append_after_last_user"), history=[])) == ["X"]


@pytest.mark.parametrize(
    "anchor",
    ["before_last_assistant", "after_message_id:gone", "relative_to_anchor(anchor=before_last_assistant, offset=-1)"],
)
def test_g5_other_anchors_that_do_not_exist_are_dropped_and_logged(anchor: str) -> None:
    plan = plan_with(wanted("x", "X", anchor=Anchor.parse(anchor)), history=chat("u: Hello."))
    assert reasons(plan) == {"x": "anchor_not_found"}
    assert [warning.where["reason"] for warning in plan.warnings] == ["anchor_not_found"]
    with pytest.raises(StrictModeError):
        plan_with(wanted("x", "X", anchor=Anchor.parse(anchor)), history=chat("u: Hello."), strict=True)


def test_g5_a_message_that_was_never_read_is_trimmed_and_not_missing() -> None:
    long = chat(*(f"{'ua'[place % 2]}: {'word ' * 50}" for place in range(600)))
    tight: Any = {"history": long, "preset": BudgetPreset(context_window_tokens=900, reserved_response_tokens=0)}
    by_id = Anchor.parse("after_message_id:m3")
    assert reasons(plan_with(wanted("x", "X", anchor=by_id), **tight)) == {"x": "anchor_trimmed"}
    moved = plan_with(wanted("x", "X", anchor=by_id, depth_policy="relocate_to_nearest"), **tight)
    assert said(moved)[1] == "X"
    silent = [*chat("u: Only once."), *(Message(role="assistant", content="word " * 50) for _ in range(600))]
    plan = plan_with(wanted("x", "X", mode="append_after_last_user"), **{**tight, "history": silent})
    assert reasons(plan) == {"x": "anchor_trimmed"}


def test_g5_of_two_messages_as_near_the_newer_is_taken() -> None:
    def drop_the_middle(ctx: Any) -> None:
        ctx.blocks = [block.disable() if block.content == "three" else block for block in ctx.blocks]

    hooks = BuildHooks()
    note = wanted("x", "X", anchor=at_end(-3), depth_policy="relocate_to_nearest", place="after")
    hooks.before_trimming(include_artifacts([note]))
    hooks.before_trimming(drop_the_middle)
    plan = build(character=MIRA, user=ROBIN, history=STORY, hooks=hooks).plan
    assert said(plan) == ["one", "two", "four", "X", "five"]


def test_g6_system_parts_are_joined_once() -> None:
    plan = plan_with(
        wanted("b", "B", mode="prepend_system"),
        wanted("a", "A", mode="prepend_system"),
        wanted("c", "C", mode="prepend_system", priority=-1),
        wanted("z", "Z", phase="system"),
    )
    contents = [message.content for message in plan.messages]
    assert (contents[0], contents[2], contents[3]) == ("C\n\nA\n\nB", "Z", "one")
    assert [source["artifact"] for source in plan.blocks[0].metadata["artifacts"]] == ["c", "a", "b"]


def test_g7_the_last_replacement_wins_and_the_others_are_logged() -> None:
    plan = plan_with(
        wanted("b", "B", operation="replace", anchor=LAST_USER),
        wanted("a", "A", operation="replace", anchor=LAST_USER),
        wanted("s", "S", operation="replace"),
        wanted("r", "R", operation="replace"),
        wanted("main", "M", operation="replace", section="main"),
    )
    assert plan.messages[0].content == "S"
    assert said(plan)[-1] == "B"
    assert reasons(plan) == {
        "b": "placed", "a": "superseded", "s": "placed", "r": "superseded", "main": "superseded",
    }  # fmt: skip


def test_g7_the_earlier_wrap_is_the_outer_one() -> None:
    plan = plan_with(
        wanted("b", {"pre": "preB", "post": "postB"}, operation="wrap", anchor=LAST_USER),
        wanted("a", {"pre": "preA", "post": "postA"}, operation="wrap", anchor=LAST_USER),
    )
    assert said(plan)[-1] == "preA\n\npreB\n\nfive\n\npostB\n\npostA"


def test_g7_the_system_prompt_is_wrapped_in_the_same_order() -> None:
    plan = plan_with(
        wanted("b", {"pre": "preB", "post": "postB"}, operation="wrap"),
        wanted("a", {"pre": "preA", "post": "postA"}, operation="wrap"),
        wanted("first", "FIRST", mode="prepend_system"),
        wanted("last", "LAST", phase="system"),
    )
    contents = [message.content for message in plan.messages]
    assert contents[0] == "FIRST\n\npreA\n\npreB"
    assert contents[2] == "postB\n\npostA\n\nLAST"


def test_g7_plain_text_wraps_only_from_above() -> None:
    assert said(plan_with(wanted("a", "above", operation="wrap", anchor=LAST_USER)))[-1] == "above\n\nfive"


def test_g7_replace_then_merge_then_wrap_then_insert() -> None:
    plan = plan_with(
        wanted("i", "INSERT", anchor=LAST_USER, place="before"),
        wanted("w", "WRAP", operation="wrap", anchor=LAST_USER),
        wanted("m", {"hp": 1}, operation="merge_section", anchor=LAST_USER, section="state", format="json"),
        wanted("r", '{"state": {"mp": 2}}', operation="replace", anchor=LAST_USER),
    )
    assert said(plan)[-2:] == ["INSERT", 'WRAP\n\n{"state":{"hp":1,"mp":2}}']


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("replace", "NEW"), ("append", "Paints.\n\nNEW"), ("prepend", "NEW\n\nPaints.")],
)
def test_g8_a_section_is_merged_by_its_strategy(strategy: str, expected: str) -> None:
    card = Character(name="Mira", description="Paints.")
    rules: dict[str, Any] = {"operation": "merge_section", "section": "description", "strategy": strategy}
    assert said(plan_with(wanted("x", "NEW", **rules), character=card))[0] == expected


def test_g8_an_unknown_section_is_created_at_the_end_of_the_system_prompt() -> None:
    rules: dict[str, Any] = {"operation": "merge_section", "section": "weather", "strategy": "append"}
    plan = plan_with(wanted("b", "Windy.", **rules), wanted("a", "Rain.", **rules), wanted("z", "Z", phase="system"))
    assert said(plan)[:3] == ["Rain.\n\nWindy.", "Z", "one"]


def test_g8_what_looks_like_a_section_in_the_text_is_none() -> None:
    card = Character(name="Mira", description="<weather>Sun.</weather> section:weather")
    plan = plan_with(wanted("x", "Rain.", operation="merge_section", section="weather"), character=card)
    assert said(plan)[:2] == [card.description, "Rain."]


def test_g8_json_is_merged_key_by_key() -> None:
    rules: dict[str, Any] = {"operation": "merge_section", "section": "state", "format": "json"}
    plan = plan_with(
        wanted("a", {"hp": 3, "bag": ["rope"], "where": {"city": "Ys", "door": 4}}, **rules),
        wanted("b", {"hp": None, "bag": ["lamp"], "where": {"door": 5}}, **rules),
    )
    assert said(plan)[0] == '{"bag":["lamp"],"where":{"city":"Ys","door":5}}'


def test_g8_json_without_a_format_is_merged_key_by_key_as_its_content_says() -> None:
    rules: dict[str, Any] = {"operation": "merge_section", "section": "state"}
    plan = plan_with(wanted("a", {"hp": 3, "bag": "rope"}, **rules), wanted("b", {"hp": 4}, **rules))
    assert said(plan)[0] == '{"bag":"rope","hp":4}'


def test_g8_json_in_the_format_text_replaces_its_section() -> None:
    rules: dict[str, Any] = {"operation": "merge_section", "section": "state", "format": "text"}
    plan = plan_with(wanted("a", {"hp": 3, "bag": "rope"}, **rules), wanted("b", {"hp": 4}, **rules))
    assert said(plan)[0] == '{"hp":4}'


@pytest.mark.parametrize("value", [["a list"], "text", 7, None])
def test_g8_only_objects_can_be_merged(value: Json) -> None:
    told = (version(1, value, content_type="json"),)
    rules: dict[str, Any] = {"operation": "merge_section", "section": "state", "format": "json"}
    plan = plan_with(wanted("x", versions=told, **rules))
    assert reasons(plan) == {"x": "merge_type_error"}
    assert [warning.where["reason"] for warning in plan.warnings] == ["merge_type_error"]


def test_g8_nothing_is_merged_into_what_is_no_json() -> None:
    rules: dict[str, Any] = {"operation": "merge_section", "format": "json"}
    into_text = wanted("x", {"a": 1}, section="main", **rules)
    into_message = wanted("y", {"a": 1}, section="state", anchor=LAST_USER, **rules)
    into_list = wanted("z", {"a": 1}, section="bag", anchor=at_end(-2), **rules)
    history = chat("u: one", 'a: {"bag": []}', "u: five")
    plan = plan_with(into_text, into_message, into_list, history=history)
    assert reasons(plan) == dict.fromkeys("xyz", "merge_type_error")
    assert said(plan) == ["one", '{"bag": []}', "five"]


def test_a_section_can_be_wrapped_and_have_neighbours() -> None:
    plan = plan_with(
        wanted("w", {"pre": "<main>", "post": "</main>"}, operation="wrap", section="main"),
        wanted("i", "BEFORE", section="main", place="before"),
        wanted("j", "AFTER", section="main"),
        wanted("k", "?", section="nowhere"),
        character=Character(name="Mira", system_prompt="MAIN"),
    )
    assert plan.messages[0].content == "BEFORE\n\n<main>\n\nMAIN\n\n</main>\n\nAFTER"
    assert reasons(plan)["k"] == "section_not_found"


def test_blocks_say_which_artifact_they_came_from() -> None:
    plan = plan_with(wanted("mood", versions=(version(6, "calm"), version(7, "glad")), mode="as_message"))
    block = plan.blocks[-1]
    assert block.source["stage"] == "artifacts"
    assert (block.source["id"], block.source["artifact"], block.source["version"]) == ("art:mood@7", "mood", 7)
    changed = plan_with(wanted("mood", "PRE", operation="wrap", anchor=LAST_USER)).blocks[-1]
    assert changed.source["id"] == "message:4"
    assert [source["id"] for source in changed.metadata["artifacts"]] == ["art:mood@1"]


def test_a_run_only_artifact_is_told_without_being_stored() -> None:
    thought = artifact(None, id="t1", access="run_only", visibility="prompt_only",
                       inclusion=inclusion(mode="append_after_last_user"))  # fmt: skip
    plan = plan_with(PromptCandidate(artifact=thought, versions=(version(1, "Think first."),)))
    assert plan.blocks[-1].source["id"] == "run:t1@1"
    assert plan.messages[-1].content == "Think first."


def test_pitfall_13_macros_and_templates_in_an_artifact_are_not_run_again() -> None:
    plan = plan_with(wanted("x", "{{char}} {% if %} {{roll:d6}}", mode="as_message"))
    assert plan.messages[-1].content == "{{char}} {% if %} {{roll:d6}}"
    assert plan.warnings == ()


def test_a_message_that_calls_a_tool_is_not_changed() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history = [*chat("u: one"), Message(role="assistant", content="", metadata={"tool_calls": [call]})]
    plan = plan_with(wanted("x", "X", operation="replace", anchor=LAST_ASSISTANT), history=history)
    assert reasons(plan) == {"x": "not_text"}


def test_a_prompt_whose_name_begins_like_a_message_is_still_a_section() -> None:
    def add_a_section(ctx: Any) -> None:
        ctx.blocks.insert(1, ctx.new_block(source="message_style", slot="message_style", content="Plain.",
                                           token_budget_group="system"))  # fmt: skip

    hooks = BuildHooks()
    hooks.before_trimming(add_a_section)
    hooks.before_trimming(include_artifacts([wanted("x", "Ornate.", operation="replace", section="message_style")]))
    plan = build(character=MIRA, user=ROBIN, history=STORY, hooks=hooks).plan
    assert said(plan)[:2] == ["Ornate.", "one"]


def test_several_blocks_of_one_message_are_one_message() -> None:
    call = {"id": "c", "name": "look", "parameters": "{}", "result": "A door."}
    looked = Message(role="system", content="", metadata={"is_system": True, "extra": {"tool_invocations": [call]}})
    history = [*chat("u: one"), looked, *chat("a: two")]
    preset = ChatPreset(function_calling=True)
    plan = sillytavern_plan(wanted("x", "X", anchor=at_end(-3), place="before"), history=history, preset=preset)
    contents = [message.content for message in plan.messages if message.content]
    assert contents[-4:] == ["X", "A door.", "two", "five"]
    changed = wanted("x", "X", operation="wrap", anchor=at_end(-3))
    assert reasons(sillytavern_plan(changed, history=history, preset=preset)) == {"x": "not_text"}


def test_what_another_hook_does_to_an_artifacts_block_stays_done() -> None:
    def shout(ctx: Any) -> None:
        ctx.blocks = [
            block.with_(content=block.content.upper()) if block.slot == "artifact" else block for block in ctx.blocks
        ]

    hooks = BuildHooks()
    hooks.before_trimming(include_artifacts([wanted("x", "x", anchor=at_end(-9), depth_policy="clamp_to_oldest_kept")]))
    hooks.before_trimming(shout)
    assert said(build(character=MIRA, user=ROBIN, history=STORY, hooks=hooks).plan)[0] == "X"


def test_two_hooks_share_one_report() -> None:
    hooks = BuildHooks()
    hooks.before_trimming(include_artifacts([wanted("a", "A", mode="as_message")]))
    hooks.before_trimming(include_artifacts([wanted("b", "B", mode="as_message")]))
    plan = build(character=MIRA, user=ROBIN, history=STORY, hooks=hooks).plan
    assert reasons(plan) == {"a": "placed", "b": "placed"}


@pytest.mark.parametrize("platform", ["plain", "chat", "text"])
def test_what_finds_no_room_is_left_out_and_the_chat_is_told_all_the_same(platform: str) -> None:
    much = wanted("much", "word " * 3000, mode="as_message")
    head = wanted("head", "word " * 3000, mode="prepend_system")
    little = wanted("little", "It rains.", mode="as_message")
    plan = _plan_in(platform, head, little, much, tokens=1000)
    assert reasons(plan) == {"head": "over_budget", "little": "placed", "much": "over_budget"}
    told = "\n".join(message.content for message in plan.messages)
    assert "It rains." in told
    assert "five" in told
    assert "word word" not in told
    left_out = [warning.where["artifact"] for warning in plan.warnings if warning.code == "artifact_left_out"]
    assert left_out == ["art.head", "art.much"]
    assert "mandatory_over_budget" not in [warning.code for warning in plan.warnings]


def _plan_in(platform: str, *candidates: PromptCandidate, tokens: int) -> Plan:
    """A build on one of the platforms, with room for so many tokens."""
    match platform:
        case "chat":
            return sillytavern_plan(
                *candidates, preset=ChatPreset(openai_max_context=tokens + 100, openai_max_tokens=100)
            )
        case "text":
            return sillytavern_plan(*candidates, preset=TextPreset(max_length=tokens + 100, genamt=100))
        case _:
            preset = BudgetPreset(context_window_tokens=tokens + 100, reserved_response_tokens=100)
            return plan_with(*candidates, preset=preset)


def test_what_is_removed_by_others_is_not_said_to_be_there() -> None:
    hooks = BuildHooks()
    hooks.before_trimming(include_artifacts([wanted("x", "X", mode="as_message")]))
    hooks.before_trimming(lambda ctx: ctx.blocks.pop())
    assert reasons(build(character=MIRA, user=ROBIN, history=STORY, hooks=hooks).plan) == {"x": "taken_out"}


def test_a_message_that_is_gone_from_the_chat_cannot_be_changed() -> None:
    by_id = Anchor.parse("after_message_id:gone")
    assert reasons(plan_with(wanted("x", "X", operation="replace", anchor=by_id))) == {"x": "anchor_not_found"}


def test_the_tail_is_behind_what_is_injected_at_the_end() -> None:
    injections = Injections(Injection(id="note", content="NOTE", depth=0))
    notes = [wanted("t", "TAIL", mode="as_message"), wanted("u", "USER", mode="append_after_last_user")]
    assert said(plan_with(*notes, injections=injections))[-4:] == ["five", "USER", "NOTE", "TAIL"]


def test_the_nearest_message_counts_what_is_said_now() -> None:
    hidden = Message(role="assistant", content="hidden", metadata={"id": "h", "is_system": True})
    rules: dict[str, Any] = {"depth_policy": "relocate_to_nearest", "place": "after"}
    note = wanted("x", "X", anchor=Anchor.parse("after_message_id:h"), **rules)
    plan = sillytavern_plan(note, history=[*chat("u: one", "a: two"), hidden], message="now")
    assert [message.content for message in plan.messages][-2:] == ["now", "X"]
    assert reasons(plan) == {"x": "relocated"}


def test_a_history_that_tells_of_more_than_it_shows_is_not_searched_for_ever() -> None:
    class Boastful(InMemoryHistory):
        def __len__(self) -> int:
            return 10_000

    plan = plan_with(wanted("x", "X", anchor=Anchor.parse("after_message_id:gone")), history=Boastful(STORY))
    assert reasons(plan) == {"x": "anchor_not_found"}


def test_without_a_system_prompt_the_artifact_is_the_system_prompt() -> None:
    def without_system(ctx: Any) -> None:
        ctx.blocks = [block for block in ctx.blocks if block.slot == "history"]

    hooks = BuildHooks()
    hooks.before_trimming(without_system)
    hooks.before_trimming(include_artifacts([wanted("x", "ALL", operation="replace")]))
    plan = build(character=MIRA, user=ROBIN, history=STORY, hooks=hooks).plan
    assert [message.content for message in plan.messages][:2] == ["ALL", "one"]


def test_pitfall_01_nothing_is_reversed() -> None:
    notes = [wanted(tag, tag.upper(), mode="append_after_last_user") for tag in "abc"]
    heads = [wanted(f"h{tag}", tag, mode="prepend_system") for tag in "abc"]
    deep = [wanted(f"d{tag}", f"D{tag}", anchor=at_end(-2)) for tag in "abc"]
    plan = plan_with(*notes, *heads, *deep)
    assert plan.messages[0].content == "a\n\nb\n\nc"
    assert said(plan)[-8:] == ["Da", "Db", "Dc", "four", "five", "A", "B", "C"]


def sillytavern_plan(*candidates: PromptCandidate, **inputs: Any) -> Plan:
    hooks = BuildHooks()
    hooks.before_trimming(include_artifacts(candidates))
    usual: dict[str, Any] = {"character": MIRA, "user": ROBIN, "history": STORY[:-1], "message": "five"}
    return tavernkit.sillytavern.build(hooks=hooks, **{**usual, **inputs}).plan


def everywhere() -> list[PromptCandidate]:
    return [
        wanted("head", "HEAD", mode="prepend_system"),
        wanted("section", "SECTION", operation="merge_section", section="weather"),
        wanted("early", "EARLY", phase="early"),
        wanted("deep", "DEEP", anchor=at_end(-2)),
        wanted("think", "THINK", mode="append_after_last_user"),
        wanted("tail", "TAIL", mode="as_message", role="system"),
    ]


@pytest.mark.parametrize("squash", [False, True])
def test_the_same_artifacts_enter_a_sillytavern_chat(squash: bool) -> None:
    plan = sillytavern_plan(*everywhere(), preset=ChatPreset(squash_system_messages=squash))
    text = "|".join(message.content for message in plan.messages)
    assert set(reasons(plan).values()) == {"placed"}
    order = ["HEAD", "SECTION", "[A new chat", "EARLY", "one", "three", "DEEP", "four", "five", "THINK", "TAIL"]
    assert [text.index(word) for word in order] == sorted(text.index(word) for word in order)


def test_the_same_artifacts_enter_a_sillytavern_text() -> None:
    plan = sillytavern_plan(*everywhere(), preset=TextPreset())
    assert plan.to_messages("text").endswith(
        "SECTION\n***\nEARLY\nRobin: one\nMira: two\nRobin: three\nDEEP\nMira: four\nRobin: five\nTHINK\nTAIL\nMira:"
    )
    assert plan.to_messages("text").startswith("HEAD\n")


def test_a_message_of_a_text_is_changed_between_its_sequences() -> None:
    instruct = Instruct(
        enabled=True,
        input_sequence="[U]",
        output_sequence="[B]",
        system_sequence="[S]",
        input_suffix="[/U]",
        output_suffix="[/B]",
        system_suffix="[/S]",
        names_behavior="none",
        wrap=False,
    )
    plan = sillytavern_plan(
        wanted("r", "REPLACED", operation="replace", anchor=LAST_USER),
        wanted("w", {"pre": "PRE", "post": "POST"}, operation="wrap", anchor=at_end(-2)),
        wanted("s", "NARRATED", operation="replace", anchor=at_end(-4), role="system"),
        wanted("n", "NOTE", anchor=at_end(-3)),
        preset=TextPreset(),
        story=Story(settings=UserSettings(instruct=instruct)),
    )
    assert set(reasons(plan).values()) == {"placed"}
    assert plan.to_messages("text").endswith(
        "[U]one[/U][S]NARRATED[/S][S]NOTE[/S][U]three[/U][B]PRE\n\nfour\n\nPOST[/B][U]REPLACED[/U][B]"
    )


def test_in_a_text_nothing_comes_behind_what_is_continued() -> None:
    plan = sillytavern_plan(
        wanted("tail", "TAIL", mode="as_message"), generation_type="continue", message="", preset=TextPreset()
    )
    assert plan.to_messages("text").endswith("Robin: three\nTAIL\nMira:Mira: four")
    only = sillytavern_plan(
        wanted("tail", "TAIL", mode="as_message"),
        generation_type="continue",
        message="",
        history=chat("a: Once"),
        preset=TextPreset(),
    )
    assert only.to_messages("text").endswith("TAIL\nMira: Once")


def long_story() -> list[Message]:
    return chat(*(f"{'ua'[place % 2]}: {place} {'word ' * 40}" for place in range(60)))


@pytest.mark.parametrize("preset", [
    ChatPreset(openai_max_context=1200, openai_max_tokens=100), TextPreset(max_length=1200, genamt=100),
])  # fmt: skip
def test_depth_policies_hold_in_sillytavern_prompts(preset: ChatPreset | TextPreset) -> None:
    plan = sillytavern_plan(
        wanted("drop", "DROP", anchor=at_end(-40)),
        wanted("clamp", "CLAMP", anchor=at_end(-40), depth_policy="clamp_to_oldest_kept"),
        wanted("near", "NEAR", anchor=Anchor.parse("after_message_id:m3"), depth_policy="relocate_to_nearest"),
        wanted("kept", "KEPT", anchor=at_end(-2), role="system"),
        history=long_story(),
        preset=preset,
    )
    assert reasons(plan) == {"drop": "anchor_trimmed", "clamp": "clamped", "near": "relocated", "kept": "placed"}
    sent = [block for block in plan.enabled_blocks if block.slot in ("history", "artifact")]
    slots = "".join("h" if block.slot == "history" else "A" for block in sent)
    assert slots.startswith("AhA")
    assert slots.endswith("Ahh")
    assert plan.trim_report is not None
    assert plan.trim_report.final_tokens <= plan.trim_report.budget_tokens


def test_in_a_continuation_nothing_comes_behind_what_is_continued() -> None:
    plan = sillytavern_plan(
        wanted("tail", "TAIL", mode="as_message"),
        wanted("think", "THINK", mode="append_after_last_user"),
        generation_type="continue",
        message="",
        preset=ChatPreset(continue_prefill=True),
    )
    contents = [message.content for message in plan.messages]
    assert contents[-1] == "four"
    assert contents.index("THINK") == contents.index("three") + 1
    assert contents.index("TAIL") == contents.index("THINK") + 1


def test_a_block_of_the_prompt_that_is_gone_takes_nothing_with_it() -> None:
    def forget_the_chat(ctx: Any) -> None:
        ctx.blocks = [block for block in ctx.blocks if block.slot != "history"]

    hooks = BuildHooks()
    hooks.before_trimming(
        include_artifacts([wanted("x", "X", mode="append_after_last_user"), wanted("e", "E", phase="early")])
    )
    hooks.before_trimming(forget_the_chat)
    plan = build(character=MIRA, user=ROBIN, history=STORY, hooks=hooks).plan
    assert said(plan) == ["E"]
    assert reasons(plan) == {"x": "anchor_trimmed", "e": "placed"}
    assert [block.content for block in plan.blocks if not block.enabled] == ["X"]
