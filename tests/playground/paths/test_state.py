"""The state of a story as a value: deltas, and what is left when they have been told one after the other."""

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.story.paths.state import changed_delta, fold

keys = st.sampled_from(["variables.gold", "variables.hope", "lore_timers.1", "lore_timers.2"])
values = st.one_of(st.none(), st.integers(), st.text(max_size=3), st.lists(st.integers(), max_size=2))
states = st.dictionaries(keys, values)
changes = st.tuples(states, st.lists(keys, max_size=3))


def test_a_delta_sets_and_unsets() -> None:
    delta = {"set": {"variables.gold": 3}, "unset": ["variables.hope"]}
    assert fold({"variables.hope": "yes", "lore_timers.1": 2}, [delta]) == {"variables.gold": 3, "lore_timers.1": 2}


def test_messages_without_a_delta_change_nothing() -> None:
    assert fold({"variables.gold": 3}, [None, None]) == {"variables.gold": 3}


@given(states, st.lists(changes))
def test_one_delta_does_what_many_do(state: dict[str, object], many: list[tuple[dict[str, object], list[str]]]) -> None:
    one, expected = None, dict(state)
    for set_, unset in many:
        one = changed_delta(one, set=set_, unset=unset)
        expected = {key: value for key, value in expected.items() if key not in unset} | set_
    assert fold(state, [one]) == expected
    if one is not None:
        assert not set(one["set"]) & set(one["unset"])


@given(states, st.lists(changes), st.integers(0, 20))
def test_a_story_may_be_told_in_two_parts(
    state: dict[str, object], many: list[tuple[dict[str, object], list[str]]], cut: int
) -> None:
    deltas = [changed_delta(None, set=set_, unset=unset) for set_, unset in many]
    assert fold(fold(state, deltas[:cut]), deltas[cut:]) == fold(state, deltas)
