"""The application may decide who speaks; the library says when it would have decided otherwise."""

from __future__ import annotations

import json

import pytest
from tests.sillytavern.groups.builders import chat, numbers, trio

from tavernkit import ParseError
from tavernkit.sillytavern.errors import DepartedMemberError, UnknownMemberError
from tavernkit.sillytavern.groups import DECISION_MISMATCH, Decision, decide


def test_without_a_decision_the_library_decides() -> None:
    decided = decide(trio(), chat=(), user_input="Brock?", random=numbers(0.9))
    assert decided.activation is not None
    assert decided.decision == Decision.of(decided.activation)
    assert (decided.decision.speakers, decided.warnings) == (("brock.png",), ())


def test_a_stored_decision_taken_up_again_agrees_with_the_same_numbers() -> None:
    first = decide(trio(0.5, 0.5, 0.5), chat=(), user_input="hm", random=numbers(0.1, 0.7, 0.3))
    stored = Decision.from_dict(json.loads(json.dumps(first.decision.to_dict())))
    again = decide(trio(0.5, 0.5, 0.5), chat=(), user_input="hm", random=numbers(0.1, 0.7, 0.3), decision=stored)
    assert (stored, again.decision, again.warnings) == (first.decision, first.decision, ())


def test_the_applications_decision_wins_and_the_difference_is_a_warning() -> None:
    decision = Decision(speakers=("vesper.png",))
    decided = decide(trio(), chat=(), user_input="Brock?", random=numbers(0.9), decision=decision)
    (warning,) = decided.warnings
    assert decided.decision is decision
    assert warning.code == DECISION_MISMATCH == "group_decision_mismatch"
    assert warning.where == {"application": ["vesper.png"], "library": ["brock.png"]}
    assert str(warning) == (
        "The application lets Vesper speak where the group's rules say Brock. Brock was mentioned as 'brock'."
    )


def test_the_order_of_speakers_matters() -> None:
    decision = Decision(speakers=("vesper.png", "brock.png"))
    decided = decide(trio(), chat=(), user_input="Brock, Vesper", random=numbers(0.9), decision=decision)
    assert [warning.code for warning in decided.warnings] == [DECISION_MISMATCH]


def test_the_application_may_let_nobody_speak() -> None:
    decided = decide(trio(), chat=(), user_input="Brock", random=numbers(0.9), decision=Decision(speakers=()))
    assert decided.decision.speakers == ()
    assert "lets nobody speak" in decided.warnings[0].message


def test_where_the_library_cannot_decide_the_application_can() -> None:
    said = chat(("Gone", "a"))
    with pytest.raises(DepartedMemberError):
        decide(trio(), chat=said, generation_type="swipe", random=numbers())
    decision = Decision(speakers=("brock.png",))
    decided = decide(trio(), chat=said, generation_type="swipe", random=numbers(), decision=decision)
    assert (decided.decision, decided.activation) == (decision, None)
    assert "cannot be swiped" in decided.warnings[0].message


def test_a_decision_for_somebody_who_is_not_at_hand_is_an_error() -> None:
    with pytest.raises(UnknownMemberError, match="ghost"):
        decide(trio(), chat=(), random=numbers(), decision=Decision(speakers=("ghost.png",)))


@pytest.mark.parametrize(
    "stored", [{}, {"speakers": "brock.png"}, {"speakers": [1]}, {"speakers": [], "reasons": [{}]}]
)
def test_something_else_is_no_decision(stored: dict[str, object]) -> None:
    with pytest.raises(ParseError, match="not a stored decision"):
        Decision.from_dict(stored)
