"""Layered summaries: explicit ranges, staleness, versions, and what must be written next."""

import pytest
from hypothesis import given

from tavernkit.memory import (
    Decisions,
    InMemorySummaries,
    MemoryDecision,
    StoryMessage,
    SummaryOptions,
    accept_summary,
    catch_up,
    needed_summaries,
    newest_summaries,
    summary_items,
    summary_ranges,
)
from tests.memory.stories import EchoSummariser, applied, changed, edits, story

SMALL = SummaryOptions(scene=(2, 5), chapter=(2, 3), story=(2, 3))


def test_m2_no_summary_reaches_the_newest_messages() -> None:
    for count in range(60):
        assert all(one.last < count - SMALL.buffer for one in summary_ranges(story(count), SMALL))


def test_m2_the_last_message_is_never_summarised_even_without_a_buffer() -> None:
    options = SMALL.with_(buffer=0)
    for count in range(1, 60):
        assert all(one.last < count - 1 for one in summary_ranges(story(count), options))


def test_m2_after_five_swipes_no_summary_has_a_discarded_text() -> None:
    store, summariser, messages = InMemorySummaries(), EchoSummariser(), story(60)
    for swipe in range(5):
        messages = [*messages[:-1], messages[-1].with_(variant=str(swipe), text=f"Discarded {swipe}")]
        catch_up(messages, store, summariser, SMALL)
    assert summariser.requests
    assert not any("Discarded" in request.messages[-1].content for request in summariser.requests)


@given(edits)
def test_m3_ranges_have_no_gap_and_no_overlap_after_any_sequence_of_changes(steps: list[tuple[str, int]]) -> None:
    for messages in applied(story(40), steps):
        ranges = summary_ranges(messages, SMALL)
        for layer in ("scene", "chapter", "story"):
            found = [one for one in ranges if one.layer == layer]
            assert [one.first for one in found] == [0, *(one.last + 1 for one in found)][: len(found)]
            assert all(len(one.ids) == one.last - one.first + 1 for one in found)
            assert all(one.last < len(messages) - SMALL.buffer for one in found)


@given(edits)
def test_m1_items_are_made_from_the_present_texts_after_any_sequence_of_changes(steps: list[tuple[str, int]]) -> None:
    store, summariser = InMemorySummaries(), EchoSummariser()
    for messages in applied(story(40), steps):
        keys = [one.key for one in summary_ranges(messages, SMALL)]
        present = {message.transcript for message in messages}
        for item in summary_items(messages, store.read(keys), SMALL):
            told = item.text.replace(f"[{item.layer}] ", "").replace("[scene] ", "").replace("[chapter] ", "")
            assert set(told.split("\n\n")) <= present
        catch_up(messages, store, summariser, SMALL)
    rebuilt = InMemorySummaries()
    catch_up(messages, rebuilt, EchoSummariser(), SMALL)
    assert summary_items(messages, store.read(keys), SMALL) == summary_items(messages, rebuilt.read(keys), SMALL)


def test_m3_a_text_written_by_hand_does_not_move_the_range() -> None:
    store, messages = InMemorySummaries(), story(30)
    catch_up(messages, store, EchoSummariser(), SMALL)
    ranges = summary_ranges(messages, SMALL)
    keys = [one.key for one in ranges]
    store.write(store.read(keys)[keys[0]].revised("By hand."))
    first = next(item for item in summary_items(messages, store.read(keys), SMALL) if item.key == keys[0])
    assert (first.text, first.first, first.last) == ("By hand.", ranges[0].first, ranges[0].last)
    assert summary_ranges(messages, SMALL) == ranges


def test_m3_a_deleted_message_changes_only_ranges_near_it() -> None:
    messages = story(200)
    before = {one.key for one in summary_ranges(messages, SMALL) if one.layer == "scene"}
    after = {one.key for one in summary_ranges([*messages[:50], *messages[51:]], SMALL) if one.layer == "scene"}
    assert len(before - after) < 10


def test_m4_scenes_become_chapters_and_chapters_a_story() -> None:
    store, summariser, messages = InMemorySummaries(), EchoSummariser(), story(120)
    written = catch_up(messages, store, summariser, SMALL)
    layers = [request.layer for request in summariser.requests]
    assert layers == sorted(layers, key=("scene", "chapter", "story").index)
    assert {"scene", "chapter", "story"} == set(layers)
    assert written == len(layers)
    assert catch_up(messages, store, summariser, SMALL) == 0


def test_m4_a_chapter_waits_for_its_scenes() -> None:
    assert {request.layer for request in needed_summaries(story(120), {}, SMALL)} == {"scene"}


def test_m4_a_changed_message_makes_its_scene_chapter_and_story_stale() -> None:
    store, messages = InMemorySummaries(), story(120)
    catch_up(messages, store, EchoSummariser(), SMALL)
    edited = changed(messages, 3, "Nobody came.")
    keys = [one.key for one in summary_ranges(edited, SMALL)]
    items = summary_items(edited, store.read(keys), SMALL)
    assert all(not item.first <= 3 <= item.last for item in items)
    assert any(item.first > 3 for item in items)
    again = EchoSummariser()
    catch_up(edited, store, again, SMALL)
    assert [request.layer for request in again.requests] == ["scene", "chapter", "story"]


def test_m1_a_text_that_comes_back_has_its_summary_again_without_a_request() -> None:
    store, messages = InMemorySummaries(), story(60)
    catch_up(messages, store, EchoSummariser(), SMALL)
    catch_up(changed(messages, 3, "Nobody came."), store, EchoSummariser(), SMALL)
    assert catch_up(messages, store, EchoSummariser(), SMALL) == 0


def test_m4_an_earlier_version_can_be_restored() -> None:
    [request, *_] = needed_summaries(story(30), {}, SMALL)
    summary = accept_summary(request, "First.").revised("Second.").revised("Third.")
    assert summary.versions == ("Second.", "First.")
    restored = summary.restored(1)
    assert (restored.text, restored.versions) == ("First.", ("Third.", "Second."))


def test_m4_a_scene_written_by_hand_has_its_chapter_written_again() -> None:
    store, messages = InMemorySummaries(), story(60)
    catch_up(messages, store, EchoSummariser(), SMALL)
    ranges = summary_ranges(messages, SMALL)
    keys = [one.key for one in ranges]
    store.write(store.read(keys)[keys[0]].revised("By hand."))
    again = EchoSummariser()
    catch_up(messages, store, again, SMALL)
    assert [request.layer for request in again.requests][:1] == ["chapter"]
    assert "By hand." in again.requests[0].messages[-1].content
    chapter = store.read(keys)[again.requests[0].key]
    assert chapter.versions


def test_m12_prompt_length_and_language_are_options() -> None:
    options = SMALL.with_(scene_words=33, language="Russian", prompt="{{words}} words, {{language}}")
    request = needed_summaries(story(30), {}, options)[0]
    assert request.messages[0].content == "33 words, Russian"
    assert (request.words, request.language) == (33, "Russian")


def test_m10_a_forgotten_message_is_not_told_to_the_summariser() -> None:
    summariser, decisions = EchoSummariser(), Decisions([MemoryDecision(action="forget", id="m2")])
    catch_up(story(60), InMemorySummaries(), summariser, SMALL, decisions)
    assert not any("Message 2:" in request.messages[-1].content for request in summariser.requests)


def test_m10_a_forgotten_summary_is_not_asked_for_again() -> None:
    messages = story(60)
    key = summary_ranges(messages, SMALL)[0].key
    decisions = Decisions([MemoryDecision(action="forget", id=key)])
    assert key not in {request.key for request in needed_summaries(messages, {}, SMALL, decisions)}


def test_m13_a_branch_has_the_summaries_of_what_it_shares() -> None:
    store, messages = InMemorySummaries(), story(60)
    catch_up(messages, store, EchoSummariser(), SMALL)
    branch = [*messages[:40], *(message.with_(id=f"b{message.id}", text="Elsewhere.") for message in messages[40:])]
    summariser = EchoSummariser()
    catch_up(branch, store, summariser, SMALL)
    assert summariser.requests
    assert min(request.last for request in summariser.requests) >= 30


def test_a_line_drawn_between_messages_ends_a_scene() -> None:
    messages = changed(story(30), 4, "***\nThe next morning.")
    assert any(one.last == 3 for one in summary_ranges(messages, SMALL) if one.layer == "scene")


def test_an_empty_summary_is_refused() -> None:
    request = needed_summaries(story(30), {}, SMALL)[0]
    with pytest.raises(ValueError, match="returned no text for messages 1 to"):
        accept_summary(request, " \n")


def test_the_newest_summaries_tell_everything_once() -> None:
    store, messages = InMemorySummaries(), story(150)
    catch_up(messages, store, EchoSummariser(), SMALL)
    items = summary_items(messages, store.read([one.key for one in summary_ranges(messages, SMALL)]), SMALL)
    newest = newest_summaries(items)
    told = [place for item in newest for place in range(item.first, item.last + 1)]
    assert len(told) == len(set(told)) == max(item.last for item in items) + 1
    assert newest[-1].layer == "story"


def test_ranges_of_a_story_without_messages_are_none() -> None:
    assert summary_ranges([]) == ()
    assert summary_ranges([StoryMessage(id="a", text="")]) == ()
