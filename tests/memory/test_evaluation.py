"""The authored story: 600 messages, 120 questions, and how many of them recall answers."""

from collections import Counter
from pathlib import Path

import pytest

from tavernkit.memory import embedded_default
from tavernkit.memory.evaluation import AuthoredStory, RecallFigures, evaluate, read_authored_story


@pytest.fixture(scope="module")
def authored() -> AuthoredStory:
    return read_authored_story(Path(__file__).parent, "Wren")


@pytest.fixture(scope="module")
def figures(authored: AuthoredStory) -> dict[str, RecallFigures]:
    return {one.method: one for one in evaluate(authored, embedded_default())}


def test_the_story_has_600_messages_and_120_questions_that_it_answers(authored: AuthoredStory) -> None:
    ids = {message.id for message in authored.messages}
    assert len(authored.messages) == len(ids) == 600
    assert len({question.text for question in authored.questions}) == 120
    assert all(question.answers and question.answers <= ids for question in authored.questions)
    kinds = Counter(question.kind for question in authored.questions)
    assert set(kinds) == {"name", "paraphrase", "changed", "order", "negation", "ru", "zh"}
    assert min(kinds.values()) >= 8


def test_recall_answers_more_than_other_rules(figures: dict[str, RecallFigures]) -> None:
    ours = figures["hybrid"]
    for other in ("SillyTavern's rule", "HypaV3, selection", "HypaV3, similar alone"):
        assert ours.total > figures[other].total + 0.15


def test_recall_is_as_good_as_the_documentation_says(figures: dict[str, RecallFigures]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "memory.md").read_text()
    for one in figures.values():
        assert f"| {one.method} | {one.total:.3f} | {one.tuned:.3f} | {one.unseen:.3f} |" in page


def test_without_an_embedder_only_words_are_evaluated(authored: AuthoredStory) -> None:
    assert [one.method for one in evaluate(authored, None)] == ["words only"]
