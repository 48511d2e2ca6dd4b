"""Thoughts in a reply that has arrived as a whole."""

from hypothesis import given
from hypothesis import strategies as st

from tavernkit.sillytavern.presets import ReasoningTemplate
from tavernkit.sillytavern.reasoning import Parsed, ReceivedReply, parse_reasoning, receive_reply, remove_reasoning
from tavernkit.sillytavern.settings import ReasoningSettings

MUSE = ReasoningTemplate(prefix="<muse>", suffix="</muse>", separator="\n\n")
AUTO = ReasoningSettings(prefix="<muse>", suffix="</muse>", separator="\n\n", auto_parse=True)


def test_the_first_block_becomes_the_thoughts_and_the_rest_the_content() -> None:
    parsed = parse_reasoning("\n <muse> plan </muse>\n\nHello. <muse>x</muse>", MUSE)
    assert parsed == Parsed(reasoning="plan", content="Hello. <muse>x</muse>")


def test_spaces_stay_when_they_are_not_trimmed() -> None:
    parsed = parse_reasoning(" <muse> plan </muse> Hello", MUSE, trim_spaces=False)
    assert parsed == Parsed(reasoning=" plan ", content=" Hello")


def test_a_block_behind_other_text_counts_only_when_not_strict() -> None:
    text = "Well. <muse>plan</muse>Hello"
    assert parse_reasoning(text, MUSE) == Parsed(reasoning="", content=text)
    assert parse_reasoning(text, MUSE, strict=False) == Parsed(reasoning="plan", content="Well. Hello")


def test_a_block_that_is_never_closed_is_content() -> None:
    assert parse_reasoning(" <muse>open ", MUSE) == Parsed(reasoning="", content=" <muse>open ")


def test_a_prefix_may_begin_with_white_space() -> None:
    template = ReasoningTemplate(prefix="\n(", suffix=")")
    assert parse_reasoning("\n\n(plan)Hello", template) == Parsed(reasoning="plan", content="Hello")


def test_a_template_needs_both_ends() -> None:
    assert parse_reasoning("<muse>x", ReasoningTemplate(prefix="<muse>")) is None
    assert parse_reasoning("x</muse>", ReasoningTemplate(suffix="</muse>")) is None


def test_removing_thoughts_depends_on_the_setting() -> None:
    assert remove_reasoning("<muse>p</muse> out", AUTO) == "out"
    assert remove_reasoning("<muse>p</muse> out", AUTO.with_(auto_parse=False)) == "<muse>p</muse> out"
    assert remove_reasoning("<muse>p", AUTO.with_(suffix="")) == "<muse>p"


def test_a_received_reply_is_sorted() -> None:
    received = receive_reply("<muse>p</muse>q", AUTO, apply_regex=str.upper)
    assert received == ReceivedReply(content="q", reasoning="P", origin="parsed")


def test_an_empty_block_is_removed_and_leaves_no_thoughts() -> None:
    assert receive_reply("<muse></muse>q", AUTO) == ReceivedReply(content="q")


def test_what_is_waiting_or_has_thoughts_already_is_left_alone() -> None:
    for text in ("", "..."):
        assert receive_reply(text, AUTO) == ReceivedReply(content=text)
    kept = receive_reply("<muse>p</muse>q", AUTO, known="older", known_origin="model")
    assert kept == ReceivedReply(content="<muse>p</muse>q", reasoning="older", origin="model")
    assert receive_reply("<muse>p</muse>q", AUTO.with_(auto_parse=False)).content == "<muse>p</muse>q"
    assert receive_reply("<muse>p</muse>q", AUTO.with_(prefix="")).content == "<muse>p</muse>q"


def test_thoughts_that_the_prompt_began_are_completed() -> None:
    received = receive_reply("rest</muse> talk", AUTO, known="begun ", unfinished="<muse>begun ")
    assert received == ReceivedReply(content="talk", reasoning="begun rest", origin="parsed")


@given(st.text(alphabet="<>/ab \n"), st.text(alphabet="</a", max_size=3), st.text(alphabet=">/b", max_size=3))
def test_parsing_loses_nothing(text: str, prefix: str, suffix: str) -> None:
    parsed = parse_reasoning(text, ReasoningTemplate(prefix=prefix, suffix=suffix), strict=False, trim_spaces=False)
    if parsed is None:
        assert not (prefix and suffix)
    elif parsed.content == text:
        assert parsed.reasoning == ""
    else:
        block = prefix + parsed.reasoning + suffix
        assert parsed.content == text.replace(block, "", 1)
