import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit import Block, TokenBudgetExceeded, Trimmer
from tavernkit.prompt.block import ARTIFACT


class Words:
    """Counts words, so that a test can be read."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text.split())


WORDS = Words()


def block(content: str, group: str = "default", **fields: object) -> Block:
    return Block(id=content, content=content, token_budget_group=group, **fields)


def kept(blocks: list[Block], budget: int, trimmer: Trimmer | None = None) -> list[str]:
    result = (trimmer or Trimmer()).trim(blocks, budget=budget, estimator=WORDS)
    return [one.content for one in result.kept]


def test_what_fits_is_left_alone() -> None:
    result = Trimmer().trim([block("a b"), block("c")], budget=3, estimator=WORDS)
    assert result.evicted == ()
    assert (result.report.initial_tokens, result.report.final_tokens, result.report.over_budget) == (3, 3, False)


def test_groups_go_in_order_examples_then_lore_then_history() -> None:
    blocks = [
        block("rules", "system"),
        block("example", "examples"),
        block("lore", "lore"),
        block("old", "history", role="assistant"),
        block("new", "history", role="user"),
    ]
    assert kept(blocks, 4) == ["rules", "lore", "old", "new"]
    assert kept(blocks, 3) == ["rules", "old", "new"]
    assert kept(blocks, 2) == ["rules", "new"]


def test_history_goes_oldest_first_and_the_latest_user_message_stays() -> None:
    blocks = [
        block("u1", "history", role="user"),
        block("a1", "history", role="assistant"),
        block("u2", "history", role="user"),
        block("a2", "history", role="assistant"),
    ]
    assert kept(blocks, 3) == ["a1", "u2", "a2"]
    assert kept(blocks, 1) == ["u2"]
    assert kept(blocks[:3], 1) == ["u2"]


def test_only_an_enabled_user_message_of_the_history_is_the_latest() -> None:
    said = [block("u1", "history", role="user"), block("a1", "history", role="assistant")]
    assert kept([*said, block("u2", "history", role="user", enabled=False)], 1) == ["u1"]
    assert kept([*said, block("note", "other", role="user")], 1) == ["u1"]


def test_the_earliest_example_dialogues_are_kept() -> None:
    blocks = [block(f"d{n}", "examples") for n in range(4)]
    assert kept(blocks, 2) == ["d0", "d1"]


def test_the_least_important_lore_goes_first() -> None:
    blocks = [block("a", "lore", priority=5), block("b", "lore", priority=1), block("c", "lore", priority=9)]
    assert kept(blocks, 2) == ["a", "c"]


def test_a_bundle_goes_as_a_whole_and_says_so() -> None:
    blocks = [
        block("head", "examples", bundle="d1"),
        block("line", "examples", bundle="d1"),
        block("hello", "history"),
    ]
    result = Trimmer().trim(blocks, budget=2, estimator=WORDS)
    assert [one.content for one in result.kept] == ["hello"]
    assert {record.reason for record in result.report.evictions} == {"group_overflow"}


def test_a_block_that_goes_alone_says_that_the_budget_was_exceeded() -> None:
    report = Trimmer().trim([block("a", "lore"), block("b c")], budget=2, estimator=WORDS).report
    assert [(record.block_id, record.reason) for record in report.evictions] == [("a", "budget_exceeded")]
    assert (report.tokens_saved, report.over_budget) == (1, True)


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        (8, ["rules", "x", "x y z", "p q", "hello"]),
        (7, ["rules", "x", "p q", "hello"]),
        (5, ["rules", "x", "p q", "hello"]),
        (4, ["rules", "x", "hello"]),
        (2, ["rules", "hello"]),
    ],
)
def test_artifacts_go_the_largest_first_where_all_that_must_stay_is_too_much(budget: int, left: list[str]) -> None:
    blocks = [
        block("rules", "system"),
        block("x", slot=ARTIFACT, removable=False),
        block("x y z", slot=ARTIFACT, removable=False),
        block("p q", "system", slot=ARTIFACT),
        block("hello", "history", role="user"),
    ]
    result = Trimmer().trim(blocks, budget=budget, estimator=WORDS)
    assert [one.content for one in result.kept] == left
    assert {record.reason for record in result.report.evictions} <= {"budget_exceeded"}


def test_an_artifact_that_may_go_does_not_go_before_its_turn() -> None:
    blocks = [block("old", "history"), block("mood", "history", slot=ARTIFACT), block("rules", removable=False)]
    assert kept(blocks, 2) == ["mood", "rules"]


def test_what_goes_besides_artifacts_is_counted_without_them() -> None:
    blocks = [
        block("a b c", slot=ARTIFACT, removable=False),
        block("rules", removable=False),
        block("old", "history"),
        block("new", "history"),
    ]
    assert kept(blocks, 2) == ["rules", "new"]


def test_one_protected_member_protects_its_bundle() -> None:
    blocks = [block("a", "lore", bundle="x", removable=False), block("b", "lore", bundle="x"), block("c", "history")]
    assert kept(blocks, 2) == ["a", "b"]


def test_unknown_groups_go_with_history() -> None:
    assert kept([block("a", "weather"), block("b", "history")], 1) == ["b"]


def test_priority_strategy_drops_the_lowest_first_and_only_honours_removable() -> None:
    blocks = [
        block("low", "system", priority=-1000),
        block("mid", priority=5, removable=False),
        block("high", priority=9),
    ]
    result = Trimmer("priority").trim(blocks, budget=1, estimator=WORDS)
    assert [one.content for one in result.kept] == ["mid"]
    assert [record.block_id for record in result.report.evictions] == ["low", "high"]
    assert {record.reason for record in result.report.evictions} == {"priority_cutoff"}


def test_evicted_blocks_stay_in_place_but_disabled() -> None:
    result = Trimmer().trim([block("a", "lore"), block("b")], budget=1, estimator=WORDS)
    assert [(one.content, one.enabled) for one in result.blocks] == [("a", False), ("b", True)]


def test_the_record_tells_where_the_block_came_from() -> None:
    source = {"stage": "lore", "id": "wi:1"}
    blocks = [block("a b", "lore", slot="lore_before", priority=3, metadata={"source": source}), block("c")]
    (record,) = Trimmer().trim(blocks, budget=1, estimator=WORDS).report.evictions
    assert (record.token_count, record.slot, record.budget_group, record.priority, record.source) == (
        2,
        "lore_before",
        "lore",
        3,
        source,
    )


def test_names_and_overhead_count() -> None:
    result = Trimmer(message_overhead=4).trim([block("a", name="Old Brock")], budget=99, estimator=WORDS)
    assert result.report.initial_tokens == 1 + 2 + 4


def test_what_must_stay_and_does_not_fit_is_an_error() -> None:
    with pytest.raises(TokenBudgetExceeded) as caught:
        Trimmer().trim([block("a b c", removable=False)], budget=2, estimator=WORDS)
    assert (caught.value.budget, caught.value.actual) == (2, 3)
    assert "raise the window" in str(caught.value)


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="group_order"):
        Trimmer("fifo")


random_blocks = st.lists(
    st.builds(
        Block,
        content=st.integers(0, 6).map(lambda count: "w " * count),
        role=st.sampled_from(["system", "user", "assistant"]),
        enabled=st.booleans(),
        removable=st.booleans(),
        priority=st.integers(-5, 5),
        token_budget_group=st.sampled_from(["system", "examples", "lore", "history", "other"]),
        bundle=st.none() | st.sampled_from(["x", "y", "z"]),
    ),
    max_size=25,
)


def may_go(block: Block, blocks: list[Block], strategy: str) -> bool:
    """Whether the contract lets a block go, by itself or with its bundle."""
    together = (
        [block] if block.bundle is None else [one for one in blocks if one.enabled and one.bundle == block.bundle]
    )
    if strategy == "priority":
        return all(one.removable for one in together)
    users = [one for one in blocks if one.enabled and one.role == "user" and one.token_budget_group == "history"]
    return all(
        one.removable and one.token_budget_group != "system" and one is not (users or [None])[-1] for one in together
    )


@given(random_blocks, st.integers(0, 80), st.sampled_from(["group_order", "priority"]))
def test_trimming_never_exceeds_the_budget_nor_drops_what_is_protected(
    blocks: list[Block], budget: int, strategy: str
) -> None:
    trimmer = Trimmer(strategy)
    try:
        result = trimmer.trim(blocks, budget=budget, estimator=WORDS)
    except TokenBudgetExceeded:
        must_stay = [one for one in blocks if one.enabled and not may_go(one, blocks, strategy)]
        assert sum(WORDS.estimate(one.content) for one in must_stay) > budget
        return
    assert sum(WORDS.estimate(one.content) for one in result.kept) == result.report.final_tokens <= budget
    assert [one.with_(enabled=True) for one in result.blocks] == [one.with_(enabled=True) for one in blocks]
    dropped = {index for index, after in enumerate(result.blocks) if blocks[index].enabled and not after.enabled}
    assert len(dropped) == result.report.eviction_count == len(result.evicted)
    assert all(may_go(blocks[index], blocks, strategy) for index in dropped)
    for bundle in ("x", "y", "z"):
        members = {index for index, one in enumerate(blocks) if one.bundle == bundle and one.enabled}
        assert members <= dropped or not members & dropped


@given(random_blocks, st.integers(0, 80))
def test_a_larger_budget_never_keeps_less(blocks: list[Block], budget: int) -> None:
    def tokens(limit: int) -> int:
        try:
            return Trimmer().trim(blocks, budget=limit, estimator=WORDS).report.final_tokens
        except TokenBudgetExceeded:
            return -1

    assert tokens(budget + 10) >= tokens(budget)
