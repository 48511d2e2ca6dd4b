"""Exchanges: the messages of a story, in pieces that can be recalled."""

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.memory import Decisions, MemoryDecision, StoryMessage, exchanges
from tests.memory.stories import changed, story


def test_an_exchange_has_the_message_of_the_user_and_the_reply_with_their_names() -> None:
    first, second = exchanges(story(4), shortest=0)
    assert first.ids == ("m0", "m1")
    assert first.text.splitlines()[0].startswith("Mira: Message 0")
    assert first.text.splitlines()[1].startswith("Sam: Message 1")
    assert (second.first, second.last) == (2, 3)


def test_short_exchanges_are_joined() -> None:
    assert [item.ids for item in exchanges(story(4))] == [("m0", "m1", "m2", "m3")]


def test_a_long_message_is_cut_between_paragraphs_and_each_part_names_the_speaker() -> None:
    text = "\n".join(f"Paragraph {number}. " + "word " * 100 for number in range(5))
    parts = exchanges([StoryMessage(id="a", speaker="Sam", text=text)], longest=600)
    assert len(parts) == 5
    assert all(part.text.startswith(f"Sam: Paragraph {number}.") for number, part in enumerate(parts))
    assert len({part.key for part in parts}) == 5


def test_m1_an_edited_message_gives_another_item_and_leaves_those_before_as_they_were() -> None:
    before = exchanges(story(40), shortest=0)
    after = exchanges(changed(story(40), 21, "Sam says something else."), shortest=0)
    assert [item.key for item in before[:10]] == [item.key for item in after[:10]]
    assert before[10].key != after[10].key
    assert [item.key for item in before[11:]] == [item.key for item in after[11:]]


def test_m1_another_variant_of_the_same_text_is_another_item() -> None:
    messages = story(2)
    swiped = [messages[0], messages[1].with_(variant="2")]
    assert exchanges(messages)[0].key != exchanges(swiped)[0].key


def test_m10_a_forgotten_message_is_in_no_exchange_until_its_text_changes() -> None:
    messages = story(4)
    decisions = Decisions([MemoryDecision(action="forget", id="m1", hash=messages[1].hash)])
    assert all("m1" not in item.ids for item in exchanges(messages, decisions))
    rewritten = changed(messages, 1, "Something new.")
    assert any("m1" in item.ids for item in exchanges(rewritten, decisions))


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=60)), max_size=20), st.integers(1, 50))
def test_every_word_of_the_story_is_in_an_exchange(given: list[tuple[bool, str]], longest: int) -> None:
    messages = [StoryMessage(id=str(at), by_user=user, text=text) for at, (user, text) in enumerate(given)]
    items = exchanges(messages, longest=longest, shortest=30)
    kept = "".join("".join(item.text.split()) for item in items)
    assert kept == "".join("".join(message.text.split()) for message in messages)
