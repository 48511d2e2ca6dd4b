"""Recall: what is found, what is chosen within a budget, and how it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.memory import (
    Bm25Index,
    Decisions,
    MemoryDecision,
    MemoryItem,
    Recall,
    RecallIndex,
    RecallOptions,
    StoryMessage,
    exchanges,
    recall,
)
from tests.memory.stories import count_words

ALONE = RecallOptions(neighbours=False, neighbour_share=0)


def item(place: int, text: str, layer: str = "exchange", last: int | None = None) -> MemoryItem:
    """An item at a place of the story; its key is its place."""
    end = place if last is None else last
    ids = tuple(f"m{number}" for number in range(place, end + 1))
    return MemoryItem(key=f"{layer}{place}", layer=layer, first=place, last=end, ids=ids, text=text)  # type: ignore[arg-type]


def recalled(items: list[MemoryItem], query: str, **more: object) -> Recall:
    return recall(RecallIndex(items), query, **{"budget": 200, "count": count_words, "options": ALONE, **more})  # type: ignore[arg-type]


def chosen(found: Recall) -> list[str]:
    return [verdict.key for verdict in found.verdicts if verdict.chosen]


THREE = [item(0, "Sam: the heron sleeps"), item(2, "Mira: a silver key"), item(4, "Sam: nothing happens")]


def test_m5_an_exact_name_is_among_the_first_three_of_10_000_items() -> None:
    items = [item(place, f"Sam: the lamp of keeper {place} was lit again and again") for place in range(10_000)]
    items[4321] = item(4321, "Sam: Ketilsson was there")
    ranked = RecallIndex(items).rank("Where was Ketilsson?", ALONE).found
    assert "exchange4321" in [one.item.key for one in ranked[:3]]


def test_m5_of_equal_items_the_newer_one_is_first() -> None:
    items = [item(place, "the heron sleeps") for place in (0, 2, 4)]
    ranked = RecallIndex(items).rank("heron", ALONE.with_(diversity=1.0)).found
    assert [one.item.first for one in ranked] == [4, 2, 0]


def test_m5_an_item_that_says_something_new_comes_before_a_repetition() -> None:
    items = [
        item(0, "the heron on the lid of the silver box"),
        item(2, "the heron on the lid of the silver box again"),
        item(4, "a heron was tattooed upon his wrist by monks"),
    ]
    ranked = RecallIndex(items).rank("silver lid box wrist", ALONE.with_(diversity=0.2)).found
    assert ranked[1].item.first == 4


def test_m6_without_an_embedder_words_alone_are_searched_and_one_notice_says_so() -> None:
    found = recalled(THREE, "key")
    assert chosen(found) == ["exchange2"]
    assert found.notice == "No embedder is installed: memories are found by their words only."


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("钥匙在哪里", "她把钥匙给了我"),
        ("図書館はどこ", "町の図書館へ行った"),
        ("열쇠", "그 열쇠를 찾았다"),
        ("Где ключ?", "Старые ключи лежали там"),
        ("с ключом", "Потерян ключ"),
        ("кто обещал книгу", "Она обещала книги"),
        ("harbours", "the harbour"),
        ("who brought it", "I bring the bag"),
        ("ÉCLAIR", "une éclair"),
    ],
)
def test_m7_a_query_in_any_language_finds_inflected_words(query: str, text: str) -> None:
    assert Bm25Index([("other", "nothing"), ("wanted", text)]).search(query, 8)[0].key == "wanted"


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=8), st.integers(0, 60))
def test_m7_no_text_raises_and_m8_no_budget_is_exceeded(query: str, texts: list[str], budget: int) -> None:
    messages = [StoryMessage(id=str(place), text=text, by_user=True) for place, text in enumerate(texts)]
    found = recall(RecallIndex(exchanges(messages, shortest=0)), query, budget=budget, count=len)
    assert len(found.text) == found.tokens <= budget


@given(st.lists(st.integers(0, 11), max_size=4), st.integers(0, 120), st.permutations(range(12)))
def test_m8_the_budget_holds_with_pins_and_m9_the_order_of_items_changes_nothing(
    pins: list[int], budget: int, order: list[int]
) -> None:
    items = [item(place, f"Sam: the heron says {place} " + "word " * place) for place in range(12)]
    items.append(item(0, "A summary of the heron.", "scene", 5))
    decisions = Decisions([MemoryDecision(action="pin", id=f"m{place}") for place in pins])
    first = recalled(items, "heron", budget=budget, decisions=decisions)
    again = recalled([*(items[place] for place in order), items[12]], "heron", budget=budget, decisions=decisions)
    assert first.tokens <= budget
    assert again == first


def test_m8_nothing_is_recalled_that_is_in_context() -> None:
    found = recalled(THREE, "silver key", in_context={"m2"})
    assert found.text == ""
    assert [verdict.reason for verdict in found.verdicts] == ["in_context"]


def test_m8_a_summary_is_left_out_when_all_of_its_messages_are_in_context() -> None:
    scene = item(0, "They met the heron.", "scene", 3)
    assert recalled([scene], "heron", in_context={"m0", "m1", "m2", "m3"}).text == ""
    assert recalled([scene], "heron", in_context={"m3"}).text != ""


def test_m8_the_same_text_is_recalled_once() -> None:
    found = recalled([item(0, "Sam: The heron sleeps."), item(4, "Sam:  the heron SLEEPS.")], "heron")
    assert sorted(verdict.reason for verdict in found.verdicts) == ["duplicate", "similar"]


def test_m8_what_hardly_resembles_the_query_is_not_recalled() -> None:
    options = ALONE.with_(least_lexical=0.9)
    found = recalled(THREE, "silver weather promises a heron tomorrow", options=options)
    assert found.text == ""
    assert {verdict.reason for verdict in found.verdicts} == {"below_threshold"}


def test_m8_no_hit_recalls_nothing() -> None:
    found = recalled(THREE, "xylophone")
    assert (found.text, found.tokens, found.passages, found.verdicts) == ("", 0, (), ())


def test_m8_pinned_recent_and_similar_have_shares_and_leave_the_rest_to_the_next() -> None:
    items = [item(place, f"Sam: heron {place} " + "word " * 12) for place in range(0, 20, 2)]
    items += [item(place, f"Scene {place}. " + "word " * 12, "scene", place + 3) for place in range(0, 20, 4)]
    decisions = Decisions([MemoryDecision(action="pin", id=f"m{place}") for place in (0, 2, 4, 6)])
    found = recalled(items, "heron", budget=150, decisions=decisions)
    by_reason = {
        reason: sum(one.chosen and one.reason == reason for one in found.verdicts)
        for reason in ("pinned", "recent", "similar")
    }
    assert by_reason == {"pinned": 2, "recent": 3, "similar": 4}
    without = recalled([one for one in items if one.layer == "exchange"], "heron", budget=150)
    assert len(chosen(without)) > by_reason["similar"]


def test_m9_memories_stand_in_the_order_of_the_story_with_their_ranges() -> None:
    items = [item(6, "heron heron heron"), item(0, "a heron"), item(0, "Summary.", "scene", 4)]
    found = recalled(items, "heron")
    assert found.text == "[Memories of earlier events]\n(1–5) Summary.\n\n(1–1) a heron\n\n(7–7) heron heron heron"


def test_m9_neighbouring_exchanges_are_one_passage() -> None:
    items = [item(place, text) for place, text in enumerate(("before", "the heron", "after", "far", "farther"))]
    found = recalled(items, "heron", options=RecallOptions())
    assert [(one.first, one.last, one.text) for one in found.passages] == [(0, 2, "before\nthe heron\nafter")]
    assert {one.key: one.reason for one in found.verdicts} == {
        "exchange0": "neighbour",
        "exchange1": "similar",
        "exchange2": "neighbour",
    }


def test_m9_templates_and_the_time_in_the_story_are_options() -> None:
    options = ALONE.with_(template="<{{memories}}>", passage="{{time}}/{{layer}}: {{text}}")
    timed = item(0, "the {{first}} heron").with_(time="Monday")
    assert recalled([timed], "heron", options=options).text == "<Monday/exchange: the {{first}} heron>"


def test_m10_every_candidate_has_a_verdict_with_its_scores() -> None:
    found = recalled(
        [item(place, f"heron {place}") for place in range(0, 30, 2)], "heron", options=ALONE.with_(limit=2)
    )
    reasons = [verdict.reason for verdict in found.verdicts]
    assert (reasons.count("similar"), reasons.count("over_limit")) == (2, 13)
    assert [verdict.rank for verdict in found.verdicts] == list(range(1, 16))
    assert all(verdict.lexical and verdict.score and verdict.tokens == 3 for verdict in found.verdicts)


def test_m10_a_pinned_item_is_recalled_whatever_is_asked_and_an_excluded_one_never() -> None:
    decisions = Decisions([MemoryDecision(action="pin", id="m4"), MemoryDecision(action="exclude", id="m2")])
    found = recalled(THREE, "silver key", decisions=decisions)
    assert {one.key: one.reason for one in found.verdicts} == {"exchange4": "pinned", "exchange2": "excluded"}
    assert [passage.keys for passage in found.passages] == [("exchange4",)]
