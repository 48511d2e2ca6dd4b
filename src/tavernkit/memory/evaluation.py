"""How often recall finds what answers a question: a story with questions, our methods, and those of others.

A story is a folder of text files, a message on each line: `1.4 Oskar: "Eat."`, which is scene, message, speaker, text.
A question is a line `kind | question | ids of messages`, of which each alone answers it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tavernkit.memory.dense import VectorIndex, normalised
from tavernkit.memory.embedders import Embedder
from tavernkit.memory.lexical import RecallHit
from tavernkit.memory.recalling import RecallIndex, RecallOptions, index_texts
from tavernkit.memory.units import StoryMessage, exchanges
from tavernkit.values import Value

AT = 8
_LINE = re.compile(r"(\d+\.\d+) ([^:]+): (.+)")


class StoryQuestion(Value, frozen=True, kw_only=True):
    """A question about a story, and the ids of the messages that answer it."""

    kind: str
    text: str
    answers: frozenset[str]


class RecallFigures(Value, frozen=True, kw_only=True):
    """The share of questions that a method answers among its best eight; `kinds` is the same by kind of question.
    The method was tuned on the questions of `tuned` and not on those of `unseen`."""

    method: str
    total: float
    tuned: float
    unseen: float
    kinds: dict[str, float]


class AuthoredStory(NamedTuple):
    """A story and the questions about it."""

    messages: tuple[StoryMessage, ...]
    questions: tuple[StoryQuestion, ...]


def read_authored_story(folder: Path, user: str) -> AuthoredStory:
    """The story in `story/*.txt` and the questions in `questions.txt`; `user` is the speaker that people play."""
    lines = "\n".join(path.read_text(encoding="utf-8") for path in sorted((folder / "story").glob("*.txt")))
    messages = tuple(
        StoryMessage(id=id, speaker=speaker, text=text, by_user=speaker == user)
        for id, speaker, text in _LINE.findall(lines)
    )
    asked = (folder / "questions.txt").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in asked if line and not line.startswith("#")]
    questions = tuple(StoryQuestion(kind=kind, text=text, answers=frozenset(ids.split())) for kind, text, ids in rows)
    return AuthoredStory(messages, questions)


Retrieve = Callable[[str], Sequence[frozenset[str]]]
"""What a method finds for a question: the ids of the messages in each of its hits, best first."""


def evaluate(story: AuthoredStory, embedder: Embedder | None) -> list[RecallFigures]:
    """The figures of every method; those that need vectors are left out without an embedder."""
    return [_figures(name, story.questions, find) for name, find in _methods(story.messages, embedder)]


def _figures(name: str, questions: Sequence[StoryQuestion], find: Retrieve) -> RecallFigures:
    hits = [
        (question.kind, any(not ids.isdisjoint(question.answers) for ids in find(question.text)[:AT]))
        for question in questions
    ]
    kinds = dict.fromkeys(kind for kind, _ in hits)
    return RecallFigures(
        method=name,
        total=_share([hit for _, hit in hits]),
        tuned=_share([hit for _, hit in hits[::2]]),
        unseen=_share([hit for _, hit in hits[1::2]]),
        kinds={wanted: _share([hit for kind, hit in hits if kind == wanted]) for wanted in kinds},
    )


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / max(1, len(hits))


def _methods(messages: Sequence[StoryMessage], embedder: Embedder | None) -> Iterator[tuple[str, Retrieve]]:
    items = exchanges(messages)
    if embedder is not None:
        dense = VectorIndex(index_texts(items), embedder)
        yield "hybrid", _ranked(RecallIndex(items, dense))
    yield "words only", _ranked(RecallIndex(items))
    if embedder is not None:
        ids = {item.key: frozenset(item.ids) for item in items}
        yield "vectors only", lambda text: [ids[hit.key] for hit in dense.search(text, AT)]
        yield "SillyTavern's rule", sillytavern_rule(messages, embedder)
        yield "HypaV3, selection", hypa_selection(messages, embedder)
        yield "HypaV3, similar alone", hypa_similar(messages, embedder)


def _ranked(index: RecallIndex) -> Retrieve:
    options = RecallOptions(limit=AT)
    return lambda text: [frozenset(one.item.ids) for one in index.rank(text, options).found]


def sillytavern_rule(messages: Sequence[StoryMessage], embedder: Embedder) -> Retrieve:
    """Vector Storage for chats: chunks of 400 characters, best cosine, no threshold; a hit is a whole message."""
    pieces = exchanges(messages, most=1, longest=400)
    index = _PlainVectors([(item.ids[0], item.text) for item in pieces], embedder)
    return lambda text: [frozenset((id,)) for id in dict.fromkeys(hit.key for hit in index.search(text, len(pieces)))]


HYPA_BATCH = 6
"""Messages per summary, as HypaV3 is set."""


def hypa_similar(messages: Sequence[StoryMessage], embedder: Embedder) -> Retrieve:
    """HypaV3's order by similarity: batches of six messages, their paragraphs compared with the query, the batches of
    the paragraphs fused by rank. The texts of the messages stand for the summaries that a model would write."""
    batches = [messages[start : start + HYPA_BATCH] for start in range(0, len(messages), HYPA_BATCH)]
    ids = [frozenset(message.id for message in batch) for batch in batches]
    index = _PlainVectors(
        [(str(place), message.transcript) for place, batch in enumerate(batches) for message in batch], embedder
    )

    def find(text: str) -> list[frozenset[str]]:
        scores = dict.fromkeys(range(len(batches)), 0.0)
        for rank, hit in enumerate(index.search(text, len(messages)), 1):
            scores[int(hit.key)] += 1 / (60 + rank)
        return [ids[place] for place in sorted(scores, key=lambda place: -scores[place])]

    return find


def hypa_selection(messages: Sequence[StoryMessage], embedder: Embedder) -> Retrieve:
    """What HypaV3 would put into a prompt with room for as many messages as eight exchanges have: 40 % the newest
    batches, 40 % similar ones, 20 % any others, here those in the middle of the story."""
    similar = hypa_similar(messages, embedder)
    batches = [
        frozenset(message.id for message in messages[start : start + HYPA_BATCH])
        for start in range(0, len(messages), HYPA_BATCH)
    ]
    room = 2 * AT // HYPA_BATCH + 1
    newest = batches[-round(room * 0.4) :]
    middle = batches[len(batches) // 2]

    def find(text: str) -> list[frozenset[str]]:
        others = [batch for batch in similar(text) if batch not in newest and batch != middle]
        return [*newest, *others[: room - len(newest) - 1], middle]

    return find


class _PlainVectors:
    """One vector per text, best cosine first."""

    def __init__(self, texts: Sequence[tuple[str, str]], embedder: Embedder) -> None:
        self._keys = [key for key, _ in texts]
        self._embedder = embedder
        self._matrix = normalised(embedder.embed([text for _, text in texts]))

    def search(self, query: str, limit: int) -> list[RecallHit]:
        scores = self._matrix @ normalised(self._embedder.embed([query]))[0]
        return [RecallHit(self._keys[place], float(scores[place])) for place in np.argsort(-scores)[:limit]]
