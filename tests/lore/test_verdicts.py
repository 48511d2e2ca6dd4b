"""Verdicts that are worked out when they are first asked for."""

import pickle

from tavernkit.lore.verdicts import LazyVerdicts


def counted(calls: list[int]) -> LazyVerdicts[str]:
    def work_out() -> list[str]:
        calls.append(1)
        return ["a", "b", "c"]

    return LazyVerdicts(work_out)


def test_verdicts_are_worked_out_once_and_only_when_asked_for() -> None:
    calls: list[int] = []
    verdicts = counted(calls)
    assert calls == []
    assert (len(verdicts), verdicts[0], verdicts[1:], list(verdicts)) == (3, "a", ("b", "c"), ["a", "b", "c"])
    assert calls == [1]


def test_verdicts_equal_any_sequence_of_the_same_and_nothing_else() -> None:
    verdicts = counted([])
    assert verdicts == ["a", "b", "c"]
    assert verdicts == counted([])
    assert hash(verdicts) == hash(counted([]))
    assert verdicts != ["a"]
    assert verdicts != {"a", "b", "c"}


def test_what_is_pickled_and_shown_are_the_verdicts() -> None:
    assert pickle.loads(pickle.dumps(counted([]))) == ("a", "b", "c")  # noqa: S301 - our own bytes
    assert repr(counted([])) == "LazyVerdicts(['a', 'b', 'c'])"
