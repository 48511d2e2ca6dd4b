"""How far two stories are the same."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.edge.models_api.queries import (
    AnsweredMessage,
    CommonPart,
    Role,
    SentMessage,
    common_part,
    fingerprint,
)

ROLES: tuple[Role, ...] = ("user", "assistant", "system")
# Few texts, so that beginnings are often the same.
SAID = st.builds(SentMessage, role=st.sampled_from(ROLES), text=st.sampled_from(["a", "b"]))
STORIES = st.lists(SAID, max_size=6)
GREETINGS = st.lists(st.sampled_from(["a", "b"]), max_size=3)


def told(said: list[SentMessage], greetings: list[str] | tuple[str, ...] = ()) -> list[AnsweredMessage]:
    greeted = [
        AnsweredMessage(UUID(int=place), "assistant", text, is_greeting=True) for place, text in enumerate(greetings)
    ]
    return greeted + [AnsweredMessage(UUID(int=100 + place), role, text) for place, (role, text) in enumerate(said)]


def is_whole(common: CommonPart, stored: list[AnsweredMessage], asked: list[SentMessage]) -> bool:
    return (common.stored, common.asked) == (len(stored), len(asked))


@given(STORIES, GREETINGS)
def test_the_same_story_is_the_same_whatever_the_greetings(story: list[SentMessage], greetings: list[str]) -> None:
    stored = told(story, greetings)
    assert is_whole(common_part(stored, story), stored, story)


@given(STORIES, GREETINGS, st.data())
def test_a_program_may_know_the_last_greetings(
    story: list[SentMessage], greetings: list[str], data: st.DataObject
) -> None:
    known = data.draw(st.integers(0, len(greetings)))
    asked = [SentMessage("assistant", text) for text in greetings[known:]] + story
    stored = told(story, greetings)
    assert is_whole(common_part(stored, asked), stored, asked)


@given(STORIES, STORIES)
def test_without_greetings_it_is_the_common_beginning(one: list[SentMessage], other: list[SentMessage]) -> None:
    count = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    count = min(len(one), len(other)) if count is None else count
    assert common_part(told(one), other) == CommonPart(count, count, is_open=count == len(one))


@given(STORIES, GREETINGS, STORIES)
def test_what_is_shared_is_shared_and_no_longer_part_is(
    story: list[SentMessage], greetings: list[str], asked: list[SentMessage]
) -> None:
    stored = told(story, greetings)
    common = common_part(stored, asked)
    starts = range(len(greetings) + 1)
    begins = common.stored - common.asked
    plain = [SentMessage("assistant", text) for text in greetings] + story
    assert begins in starts
    assert plain[begins : common.stored] == asked[: common.asked]
    assert not any(plain[start : start + common.asked + 1] == asked[: common.asked + 1] for start in starts
                   if common.asked < len(asked))  # fmt: skip


@given(STORIES, GREETINGS, STORIES, STORIES)
def test_who_is_not_open_is_the_same_however_it_goes_on(
    story: list[SentMessage], greetings: list[str], more: list[SentMessage], asked: list[SentMessage]
) -> None:
    common = common_part(told(story, greetings), asked)
    if not common.is_open:
        assert common_part(told(story + more, greetings), asked) == common


def test_roles_and_texts_count() -> None:
    asked = [SentMessage("user", "Hm?")]
    assert common_part([AnsweredMessage(UUID(int=1), "assistant", "Hm?")], asked).asked == 0
    assert common_part([AnsweredMessage(UUID(int=1), "user", "Hm")], asked).asked == 0
    assert common_part([AnsweredMessage(UUID(int=1), "", "Hm?")], asked).asked == 0


def test_a_reply_is_known_by_what_was_streamed_of_it() -> None:
    stored = [AnsweredMessage(UUID(int=1), "assistant", "Tea?", sent_as=fingerprint("Tea? Sam: Yes"))]
    for text in ("Tea?", "Tea? Sam: Yes"):
        assert common_part(stored, [SentMessage("assistant", text)]).asked == 1
    assert common_part(stored, [SentMessage("assistant", "Coffee?")]).asked == 0
