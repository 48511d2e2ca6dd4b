"""Thoughts in a reply that is still arriving."""

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.sillytavern.reasoning import (
    PromptReasoning,
    ReasoningPrefix,
    ReasoningState,
    ReasoningStream,
    StreamedReply,
    parse_reasoning,
)
from tavernkit.sillytavern.settings import ReasoningSettings

MUSE = ReasoningSettings(prefix="<muse>", suffix="</muse>", separator="\n\n", auto_parse=True)
NONE, THINKING, DONE = ReasoningState.NONE, ReasoningState.THINKING, ReasoningState.DONE


def seen(reply: StreamedReply) -> tuple[str, str | None, ReasoningState]:
    return reply.content, reply.reasoning, reply.state


def test_thoughts_come_first_then_content() -> None:
    stream = ReasoningStream(MUSE)
    chunks = ["<mu", "se>", "think", "ing</mu", "se>", "\n\nHel", "lo."]
    assert [seen(stream.feed(chunk)) for chunk in chunks] == [
        ("<mu", None, NONE),
        ("<muse>", None, NONE),
        ("", "think", THINKING),
        ("", "thinking</mu", THINKING),
        ("", "thinking", THINKING),
        ("Hel", "thinking", DONE),
        ("Hello.", "thinking", DONE),
    ]
    assert seen(stream.finish()) == ("Hello.", "thinking", DONE)


def test_white_space_before_the_prefix_makes_it_content() -> None:
    stream = ReasoningStream(MUSE)
    assert seen(stream.feed(" <muse>x</muse>y")) == (" <muse>x</muse>y", None, NONE)
    assert stream.finish().state is NONE


def test_thoughts_that_never_end_are_thoughts_to_the_last() -> None:
    stream = ReasoningStream(MUSE)
    stream.feed("<muse>never ")
    stream.feed("closed")
    assert seen(stream.finish()) == ("", "never closed", DONE)


def test_nothing_is_looked_for_when_it_is_switched_off_or_the_template_is_half() -> None:
    for settings in (MUSE.with_(auto_parse=False), MUSE.with_(prefix=""), MUSE.with_(suffix="")):
        stream = ReasoningStream(settings)
        assert seen(stream.feed("<muse>x</muse>y")) == ("<muse>x</muse>y", None, NONE)


def test_a_continued_thought_goes_on() -> None:
    prompt = PromptReasoning(MUSE)
    assert prompt.add("", "begun ", continued=True) == "<muse>begun "
    stream = ReasoningStream(MUSE, continues=prompt.prefix)
    assert seen(stream.feed("and on</muse>")) == ("", "begun and on", THINKING)
    assert seen(stream.feed(" now")) == ("now", "begun and on", DONE)


def test_a_continued_message_keeps_its_finished_thoughts() -> None:
    prompt = PromptReasoning(MUSE)
    prompt.add("Partial", "old thought", continued=True)
    reply = ReasoningStream(MUSE, continues=prompt.prefix).feed(" more")
    assert (*seen(reply), reply.origin) == (" more", "old thought", DONE, "model")


def test_no_thoughts_are_looked_for_in_the_rest_of_a_message() -> None:
    reply = ReasoningStream(MUSE, continues=ReasoningPrefix()).feed("<muse>x</muse>y")
    assert seen(reply) == ("<muse>x</muse>y", None, DONE)


def test_thoughts_that_cannot_be_told_from_the_reply_stay_as_the_prompt_had_them() -> None:
    continued = ReasoningPrefix(reasoning="begun", formatted="<muse>begun", open=True)
    stream = ReasoningStream(MUSE.with_(auto_parse=False), continues=continued)
    assert [stream.feed(chunk).state for chunk in ("a", "b")] == [THINKING, THINKING]
    assert seen(stream.finish()) == ("ab", "begun", DONE)


def test_scripts_see_the_thoughts_once_however_they_arrive() -> None:
    stream = ReasoningStream(MUSE, apply_regex=lambda text: f"{text}!")
    for character in "<muse>ab</muse>cd":
        stream.feed(character)
    assert stream.finish().reasoning == "ab!"


pieces = st.lists(st.sampled_from(["<muse>", "</muse>", "<mu", "se>", " ", "\n", "a", "</", "🙂"]), max_size=8)


@given(pieces, st.booleans())
def test_how_a_reply_is_cut_into_pieces_does_not_matter(chunks: list[str], trim_spaces: bool) -> None:
    in_pieces, at_once = (ReasoningStream(MUSE, trim_spaces=trim_spaces) for _ in range(2))
    for chunk in chunks:
        in_pieces.feed(chunk)
    at_once.update("".join(chunks))
    assert in_pieces.finish() == at_once.finish()


@given(pieces, pieces)
def test_a_stream_ends_as_the_whole_reply_is_parsed(thoughts: list[str], content: list[str]) -> None:
    text = "<muse>" + "".join(thoughts) + "</muse>" + "".join(content)
    parsed = parse_reasoning(text, MUSE)
    stream = ReasoningStream(MUSE)
    stream.update(text)
    reply = stream.finish()
    assert parsed is not None
    assert (reply.reasoning, reply.content) == (parsed.reasoning, parsed.content)
