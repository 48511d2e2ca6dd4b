"""How much of a request the one before it has in common with it."""

from __future__ import annotations

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from tavernkit import Book, BudgetPreset, BuildResult, Built, Character, Entry, Message, User, build
from tavernkit.prompt.reuse import CACHE_RULES, reuse
from tavernkit.prompt.sources import ExplainedMessage, ExplainedSpan, Explanation, FromBlock, FromHistory, FromLore
from tavernkit.prompt.tokens import CharacterRatio, ModelTokenEstimator, default_estimator

ESTIMATOR = default_estimator()
texts = st.text(st.sampled_from("ab \n'0é漢"), max_size=12)
requests = st.lists(st.tuples(st.sampled_from(("system", "user")), texts), max_size=5)


class Letters:
    """An estimator that only counts."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text)


def explanation(messages: list[tuple[str, str]]) -> Explanation:
    return Explanation(
        messages=tuple(
            ExplainedMessage(
                role=role,
                content=content,
                spans=tuple(
                    ExplainedSpan(text=letter, source=FromHistory(message=place))
                    for place, letter in enumerate(content)
                ),
            )
            for role, content in messages
        )
    )


def tokens(messages: list[tuple[str, str]]) -> list[tuple[str, int]]:
    """A request as one list: a mark for each message, then its tokens."""
    listed: list[tuple[str, int]] = []
    for place, (role, content) in enumerate(messages):
        listed.append((f"{place} {role}", -1))
        listed += [("", piece.id) for piece in ESTIMATOR.tokenize(content)]
    return listed


@given(requests, requests)
def test_common_tokens_are_the_longest_common_prefix_of_both_lists_of_tokens(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    found = reuse(explanation(before), explanation(after), estimator=ESTIMATOR)
    pairs = zip(tokens(before), tokens(after), strict=False)
    common = [now for then, now in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    assert found.common_tokens == sum(id >= 0 for _, id in common)
    assert found.total_tokens == sum(id >= 0 for _, id in tokens(after))


@given(requests, requests)
def test_what_broke_a_prefix_is_where_both_differ_first(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    broken = reuse(explanation(before), explanation(after), estimator=Letters()).broken_by
    shorter = min(len(before), len(after))
    if broken is None:
        assert before[:shorter] == after[:shorter]
        return
    place, offset = broken.message, broken.offset
    assert before[:place] == after[:place]
    (then_role, then), (role, now) = before[place], after[place]
    assert broken.role == role
    assert then[:offset] == now[:offset]
    assert (then_role != role and offset == 0) or then[offset : offset + 1] != now[offset : offset + 1]
    assert broken.source == (FromHistory(message=offset) if offset < len(now) else None)
    assert broken.replaced == (FromHistory(message=offset) if offset < len(then) else None)
    assert now.startswith(broken.common + broken.after, offset - len(broken.common))


@given(requests, requests)
def test_a_request_that_goes_on_breaks_nothing(before: list[tuple[str, str]], more: list[tuple[str, str]]) -> None:
    found = reuse(explanation(before), explanation(before + more), estimator=Letters())
    assert found.broken_by is None
    assert found.common_tokens == sum(len(content) for _, content in before)


def made(message: str, *, name: str = "Mira") -> Built[BuildResult]:
    ferry = Entry(id="7", name="Ferry", keys=("ferry",), content="The ferry is late today.")
    return build(
        character=Character(name=name, description="{{char}} paints harbours."),
        user=User(name="Robin"),
        books=[Book(name="Coast", entries=(ferry,))],
        message=message,
        preset=BudgetPreset(context_window_tokens=2048),
        trace=True,
    )


def test_an_entry_that_comes_breaks_the_prefix_by_its_name() -> None:
    found = reuse(made("Hello!"), made("Is the ferry here?"))
    assert found.broken_by is not None
    assert isinstance(found.broken_by.source, FromLore)
    assert found.broken_by.source.name == "Ferry"
    assert "The ferry is late today." in found.broken_by.after
    assert found.common_tokens < found.total_tokens


def test_the_same_build_is_reused_whole() -> None:
    found = reuse(made("Hello!"), made("Hello!"))
    assert (found.share, found.broken_by) == (1, None)
    assert str(found) == f"{found.total_tokens} of {found.total_tokens} tokens (100.0%)"


def test_a_sentence_says_what_stands_there_now_and_what_stood_there() -> None:
    found = reuse(made("Hello!"), made("Hello!", name="Nora"))
    assert str(found).endswith(": {{char}} in template: main prompt")
    found = reuse(made("Hello!"), made("Is the ferry here?"))
    assert "lore: Ferry of Coast (“ferry”), before it message 0" in str(found)


def test_a_build_without_a_trace_names_the_block() -> None:
    people = {"character": Character(name="Mira"), "user": User(name="Robin")}
    before, after = (build(**people, message=message) for message in ("Good day!", "Good night!"))
    broken = reuse(before, after).broken_by
    assert broken is not None
    assert isinstance(broken.source, FromBlock)
    assert (broken.common, broken.before, broken.after) == ("Good ", "day!", "night!")


def test_another_name_or_call_of_a_tool_breaks_the_prefix() -> None:
    said = Message(role="assistant", content="Yes.", name="Mira")
    called = said.with_(metadata={"tool_calls": [{"id": "1"}]})
    for other in (said.with_(name="Nora"), called):
        found = reuse([said], [other])
        assert (found.common_tokens, found.broken_by and found.broken_by.offset) == (0, 0)
    assert reuse([said], [said]).common_tokens == reuse([said], [said]).total_tokens > 0


def test_tokens_that_are_guessed_are_those_of_the_common_text() -> None:
    guess = ModelTokenEstimator(fallback=CharacterRatio())
    guess.register("*", Letters())
    found = reuse([{"role": "user", "content": "abcd"}], [{"role": "user", "content": "abxyz"}], estimator=guess)
    assert (found.common_tokens, found.total_tokens) == (2, 5)


def test_openai_reuses_from_1024_tokens_on_in_steps_of_128() -> None:
    rule = CACHE_RULES["openai"]
    assert [rule.reusable(tokens) for tokens in (0, 1023, 1024, 1151, 1152, 5000)] == [0, 0, 1024, 1024, 1152, 4992]
