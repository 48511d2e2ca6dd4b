"""JavaScript's regular expressions, and what stops the hostile ones."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.errors import RegexError, RegexTimeout
from tavernkit.text.js_regex import JsCut, JsMatch, PatternOutcome, compile_regex, first_found, search_all
from tavernkit.text.js_strings import join_halves, python_offsets
from tests.support.hanging import not_hanging

from .javascript import javascript

HOSTILE = "^(a+)+$"
TRAP = "a" * 32 + "!"


@pytest.mark.parametrize(
    ("source", "flags", "text", "found"),
    [
        ("tide|moon", "", "The tide turns.", True),
        ("TIDE", "", "The tide turns.", False),
        ("TIDE", "i", "The tide turns.", True),
        (r"\bcafé\b", "", "café", False),  # word characters are ASCII here
        (r"\d", "", "٣", False),
        (r"^b", "m", "a\nb", True),
        (r"a.b", "", "a\nb", False),
        (r"a.b", "s", "a\nb", True),
        (r"^.$", "", "🙂", False),  # two units
        (r"^.$", "u", "🙂", True),
        (r"\p{Script=Han}", "u", "海", True),
        (r"(?<=the )tide", "", "the tide", True),
        (r"(?<x>a)\k<x>", "", "aa", True),
        (r"a\/b", "", "a/b", True),
        (r"tide", "y", "the tide", False),
        ("\0", "", "a\0b", True),
        ("\ud83d$", "", "half \ud83d", True),
        (r"^\s$", "", "\ufeff", True),
    ],
)
def test_patterns_mean_what_they_mean_in_javascript(source: str, flags: str, text: str, found: bool) -> None:
    assert compile_regex(source, flags).test(text) is found


def test_the_flags_g_and_y_leave_no_trace_between_calls() -> None:
    pattern = compile_regex("a", "g")
    assert [pattern.test("a"), pattern.test("a"), len(pattern.find_all("aa")), pattern.test("a")] == [
        True,
        True,
        2,
        True,
    ]


def test_all_matches_with_g_and_the_first_without() -> None:
    assert [match.text for match in compile_regex(r"\w+", "g").find_all("tide and moon")] == ["tide", "and", "moon"]
    assert [match.text for match in compile_regex(r"\w+").find_all("tide and moon")] == ["tide"]
    assert compile_regex("storm", "g").find_all("tide and moon") == ()


def test_a_match_says_where_it_is_and_what_its_groups_took() -> None:
    (match,) = compile_regex(r"(?<who>\w+): (no)?(.*)").find_all("🙂 Mira: hello")
    assert match == JsMatch(start=3, end=14, text="Mira: hello", groups=("Mira", None, "hello"), named={"who": "Mira"})
    assert python_offsets("🙂 Mira: hello", [match.start, match.end]) == [2, 13]


@pytest.mark.parametrize(("flags", "starts"), [("g", [0, 1, 2, 3, 4]), ("gu", [0, 1, 3, 4]), ("gv", [0, 1, 3, 4])])
def test_empty_matches_move_on_by_a_unit_or_by_a_character(flags: str, starts: list[int]) -> None:
    assert [match.start for match in compile_regex("", flags).find_all("a🙂b")] == starts


@pytest.mark.parametrize(
    ("source", "flags", "replacement", "replaced"),
    [
        (r"(\w+) (\w+)", "", "$2 $1", "turns tide, low tide"),
        (r"tide", "g", "[$&]", "[tide] turns, low [tide]"),
        (r"(?<what>turns)", "", "$<what>$$", "tide turns$, low tide"),
        (r"tide", "", r"\1", r"\1 turns, low tide"),
        (r",.*", "", "", "tide turns"),
        (r"turns", "", "\0\ud83d", "tide \0\ud83d, low tide"),
    ],
)
def test_replacing(source: str, flags: str, replacement: str, replaced: str) -> None:
    assert compile_regex(source, flags).replace("tide turns, low tide", replacement) == replaced


PIECES = st.sampled_from(
    ["a", "b", ".", r"\w", r"\s", "[^a]", "(a|b)", "(?:b)?", "^", "$", r"\b", "🙂", "\ud83d", "a+", "b*?"]
)
SOURCES = st.lists(PIECES, max_size=5).map("".join)
FLAGS = st.sampled_from(["", "g", "i", "gi", "u", "gu", "gs", "y", "gy"])
TEXTS = st.text("abAB \n🙂\ud83d\0", max_size=12)


@given(SOURCES, FLAGS, TEXTS)
def test_every_operation_agrees_with_the_language_itself(source: str, flags: str, text: str) -> None:
    pattern = compile_regex(source, flags)
    x = [source, flags, text]
    assert pattern.test(text) == javascript("new RegExp(x[0], x[1]).test(x[2])", x)
    assert pattern.replace(text, "<$&>") == javascript("x[2].replace(new RegExp(x[0], x[1]), '<$&>')", x)
    starts = javascript("[...x[2].matchAll(new RegExp(x[0], x[1].replace('g', '') + 'g'))].map(m => m.index)", x)
    assert [match.start for match in pattern.find_all(text)] == (starts if "g" in flags else starts[:1])


@pytest.mark.parametrize(
    ("source", "flags"), [("(", ""), ("a", "gg"), ("a", "k"), ("[b-a]", ""), (r"\p{Nope}", "u"), ("*", "")]
)
def test_what_javascript_does_not_understand_is_an_error_that_says_so(source: str, flags: str) -> None:
    with pytest.raises(RegexError, match="is not a regular expression") as caught:
        compile_regex(source, flags)
    assert (caught.value.source, caught.value.flags) == (source, flags)


@pytest.mark.parametrize("source", ["a" * 10_001, "(?:" * 3_000 + ")" * 3_000])
def test_a_monstrous_pattern_is_refused(source: str) -> None:
    with pytest.raises(RegexError) as caught:
        compile_regex(source)
    assert len(str(caught.value)) < 250


def test_a_hostile_pattern_is_stopped_and_the_next_call_works() -> None:
    pattern = compile_regex(HOSTILE)
    with not_hanging(), pytest.raises(RegexTimeout, match="no answer after 50 ms"):
        pattern.test(TRAP)
    with pytest.raises(RegexTimeout, match="no answer after 5 ms"):
        pattern.find_all(TRAP, limit=0.005)
    with pytest.raises(RegexTimeout):
        pattern.replace(TRAP, "", limit=0.005)
    assert pattern.test("aaa")


def test_a_pattern_that_eats_memory_is_stopped_and_the_next_call_works() -> None:
    pattern = compile_regex("a", "g")
    with pytest.raises(RegexTimeout, match="more memory"):
        pattern.replace("a" * 50_000, "$`", limit=5)
    assert pattern.replace("a", "b") == "b"


def test_patterns_that_fill_the_memory_make_room_for_others() -> None:
    large = [compile_regex(r"\p{L}" * 1_900 + str(number), "u") for number in range(12)]
    assert not large[0].test("tide")
    assert compile_regex("tide", "g").find_all("tide " * 20_000, limit=5)
    assert large[-1].test("x" * 1_900 + "11")


def test_more_patterns_than_are_kept() -> None:
    patterns = [compile_regex(f"tide{number}x") for number in range(4_200)]
    assert all(pattern.test("tide0x tide4199x") for pattern in (patterns[0], patterns[-1]))
    assert search_all(patterns, "tide7x")[7].start == 0


def test_each_thread_can_use_the_same_pattern() -> None:
    pattern = compile_regex(r"(\d+)", "g")

    def numbers(worker: int) -> list[str]:
        return [match.text for _ in range(50) for match in pattern.find_all(f"{worker} and {worker}")]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(numbers, range(8))) == [[str(worker)] * 100 for worker in range(8)]


def test_a_batch_gives_each_pattern_its_verdict_and_the_place_of_its_first_match() -> None:
    patterns = [
        compile_regex("moon", "g"),
        compile_regex("storm"),
        compile_regex("TIDE", "i"),
        compile_regex("moon", "g"),
    ]
    verdicts = search_all(patterns, "🙂 tide, moon, moon")
    assert [(verdict.outcome, verdict.start) for verdict in verdicts] == [
        (PatternOutcome.FOUND, 9),
        (PatternOutcome.NOT_FOUND, None),
        (PatternOutcome.FOUND, 3),
        (PatternOutcome.FOUND, 9),
    ]
    assert search_all([], "anything") == ()


def test_a_hostile_pattern_does_not_take_the_others_with_it() -> None:
    patterns = [compile_regex(source) for source in ("!", HOSTILE, "b", "a")]
    with not_hanging():
        verdicts = search_all(patterns, TRAP)
    assert [verdict.outcome for verdict in verdicts] == [
        PatternOutcome.FOUND,
        PatternOutcome.TIMED_OUT,
        PatternOutcome.NOT_FOUND,
        PatternOutcome.FOUND,
    ]


def test_many_hostile_patterns_cannot_outspend_the_budget_nor_starve_the_rest() -> None:
    hostile = [compile_regex(f"^(a+)+{number}$") for number in range(20)]
    with not_hanging():
        verdicts = search_all([*hostile, compile_regex("!")], TRAP, budget=0.3)
    assert verdicts[-1].outcome is PatternOutcome.FOUND
    assert verdicts[0].outcome is PatternOutcome.TIMED_OUT
    assert verdicts[-2].outcome is PatternOutcome.NOT_RUN


def test_a_slow_but_honest_pattern_gets_its_whole_time() -> None:
    honest = compile_regex(r"(?:\w+\s)+\w+\.$")
    text = "the tide turns and " * 30 + "x" * 4_000 + "!"
    assert search_all([honest], text, limit=2, budget=4)[0].outcome is PatternOutcome.NOT_FOUND


def test_memory_is_counted_in_a_batch_too() -> None:
    verdicts = search_all(
        [compile_regex(r"(?:.|\n)*x"), compile_regex("b$")], "a" * 3_000_000 + "b", limit=10, budget=20
    )
    assert [verdict.outcome for verdict in verdicts] == [PatternOutcome.TIMED_OUT, PatternOutcome.FOUND]


def test_a_text_too_large_for_the_engine_is_not_searched() -> None:
    text, pattern = "海" * 12_000_000, compile_regex("海")
    assert [verdict.outcome for verdict in search_all([pattern], text, budget=10)] == [PatternOutcome.NOT_RUN]
    with pytest.raises(RegexTimeout, match="more memory"):
        pattern.test(text, limit=10)
    assert pattern.test("海")


@given(st.lists(st.tuples(SOURCES, FLAGS), max_size=8), TEXTS)
def test_a_batch_finds_what_each_pattern_finds_alone(patterns: list[tuple[str, str]], text: str) -> None:
    compiled = [compile_regex(*pattern) for pattern in patterns]
    first = [pattern.find_all(text) for pattern in compiled]
    assert [verdict.start for verdict in search_all(compiled, text)] == [
        matches[0].start if matches else None for matches in first
    ]


def test_a_text_is_cut_at_its_matches() -> None:
    cuts, rest = compile_regex(r"(\w)=(?<value>\d)?", "g").cut("🙂 a=1, b=!")
    assert cuts == (
        JsCut(before="🙂 ", start=3, groups=("a=1", "a", "1"), named={"value": "1"}),
        JsCut(before=", ", start=8, groups=("b=", "b", None), named={}),
    )
    assert rest == "!"
    assert compile_regex("tide").cut("moon") == ((), "moon")
    assert compile_regex("o").cut("moon") == ((JsCut(before="m", start=1, groups=("o",)),), "on")


@given(SOURCES, FLAGS, TEXTS)
def test_the_pieces_of_a_cut_text_are_the_text(source: str, flags: str, text: str) -> None:
    cuts, rest = compile_regex(source, flags).cut(text)
    pieces = [piece for cut in cuts for piece in (cut.before, f"<{cut.groups[0]}>")]
    assert join_halves("".join((*pieces, rest))) == compile_regex(source, flags).replace(text, "<$&>")


def test_the_first_of_many_patterns_that_is_found() -> None:
    storm, moon, tide = (compile_regex(word, "g") for word in ("storm", "moon", "tide"))
    assert first_found([storm, moon, tide], "tide and moon") == 1
    assert first_found([storm, tide], "moon") is None
    assert first_found([tide], "tide") == 0
    assert first_found([], "tide") is None


def test_many_patterns_that_take_too_long_together_are_stopped() -> None:
    hostile, harmless = compile_regex(HOSTILE), compile_regex("!")
    with pytest.raises(RegexTimeout, match="2 patterns together had no answer after 50 ms"):
        first_found([hostile, harmless], TRAP)
    assert first_found([harmless, hostile], TRAP) == 0
