"""What is remembered verbatim: exchanges of the story, marked with the messages they were made from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Literal, TypeAlias

from tavernkit.text.js_strings import well_formed
from tavernkit.values import Value

MemoryLayer: TypeAlias = Literal["exchange", "scene", "chapter", "story"]


def text_hash(*texts: str) -> str:
    """A hash of texts; where one ends and the next begins counts."""
    digest = sha256()
    for text in texts:
        data = well_formed(text).encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()[:32]


class StoryMessage(Value, frozen=True, kw_only=True):
    """A message as it is on the path: its active variant. `time` is the time in the story, if somebody knows it."""

    id: str
    text: str
    speaker: str = ""
    variant: str = ""
    by_user: bool = False
    time: str = ""

    @property
    def hash(self) -> str:
        """Of what is remembered of it. Another text or another variant is another hash."""
        return text_hash(self.id, self.variant, self.speaker, self.text)

    @property
    def transcript(self) -> str:
        """The text, with who says it."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


class MemoryItem(Value, frozen=True, kw_only=True):
    """Something that can be recalled. `first` and `last` are places of messages in the story, from 0; the key is made
    from the hashes of its messages, so that a changed text is another item."""

    key: str
    layer: MemoryLayer
    first: int
    last: int
    ids: tuple[str, ...]
    text: str
    part: int = 0
    time: str = ""


class MemoryDecision(Value, frozen=True, kw_only=True):
    """What somebody decided about a message or an item, by id or key.

    `pin` always recalls it, `exclude` never does; `forget` also keeps a message out of summaries. With a hash, it holds
    only for the text that the message had then.
    """

    action: Literal["pin", "exclude", "forget"]
    id: str
    hash: str = ""


class Decisions:
    """The decisions about a story."""

    def __init__(self, decisions: Iterable[MemoryDecision] = ()) -> None:
        self._hashes: dict[tuple[str, str], set[str]] = {}
        self.has_pins = False
        for one in decisions:
            self._hashes.setdefault((one.action, one.id), set()).add(one.hash)
            self.has_pins |= one.action == "pin"

    def forgets(self, message: StoryMessage) -> bool:
        """Whether this text of the message must not be remembered."""
        hashes = self._hashes.get(("forget", message.id))
        return hashes is not None and ("" in hashes or message.hash in hashes)

    def has_forgotten(self, key: str) -> bool:
        """Whether an item must not be made or used again."""
        return ("forget", key) in self._hashes

    def is_pinned(self, item: MemoryItem) -> bool:
        """Whether the item, or for an exchange one of its messages, is always recalled."""
        return self._names("pin", item)

    def is_excluded(self, item: MemoryItem) -> bool:
        """Whether the item, or for an exchange one of its messages, is never recalled."""
        return self.has_forgotten(item.key) or self._names("exclude", item)

    def _names(self, action: str, item: MemoryItem) -> bool:
        return (action, item.key) in self._hashes or (
            item.layer == "exchange" and any((action, id) in self._hashes for id in item.ids)
        )


NOTHING_DECIDED = Decisions()


def exchanges(
    messages: Sequence[StoryMessage],
    decisions: Decisions = NOTHING_DECIDED,
    *,
    most: int = 16,
    shortest: int = 1000,
    longest: int = 2000,
) -> tuple[MemoryItem, ...]:
    """The messages as exchanges: what the user wrote and the replies to it. Short ones are joined until they have
    `shortest` characters; a long one is cut between paragraphs, into parts of at most `longest`."""
    items: list[MemoryItem] = []
    for start, end in _borders(messages, most, shortest):
        kept = [message for message in messages[start:end] if message.text.strip() and not decisions.forgets(message)]
        if not kept:
            continue
        hashes = [message.hash for message in kept]
        places = {message.id: place for place, message in enumerate(messages[start:end], start)}
        for part, (ids, text) in enumerate(_parts(kept, longest)):
            items.append(
                MemoryItem(
                    key=text_hash("exchange", str(part), *hashes),
                    layer="exchange",
                    first=places[ids[0]],
                    last=places[ids[-1]],
                    ids=ids,
                    text=text,
                    part=part,
                    time=kept[0].time,
                )
            )
    return tuple(items)


def _borders(messages: Sequence[StoryMessage], most: int, shortest: int) -> Iterator[tuple[int, int]]:
    start = size = 0
    for place in range(1, len(messages) + 1):
        size += len(messages[place - 1].text)
        is_end = place == len(messages)
        is_turn = not is_end and messages[place].by_user and not messages[place - 1].by_user
        if is_end or place - start >= most or (is_turn and (size >= shortest or is_landmark(messages[place].id, 48))):
            yield start, place
            start, size = place, 0


def is_landmark(id: str, every: int) -> bool:
    """Whether an id is one of about one in `every`: where a border is always, borders are found again behind a place
    where messages came or went."""
    return int(text_hash(id)[:8], 16) % every == 0


def _parts(messages: Sequence[StoryMessage], longest: int) -> Iterator[tuple[tuple[str, ...], str]]:
    """Texts with the ids of their messages; each says who speaks."""
    pieces = [(message, piece) for message in messages for piece in _pieces(message.text, longest)]
    ids: list[str] = []
    lines: list[str] = []
    size = 0
    for message, piece in pieces:
        if lines and size + len(piece) > longest:
            yield tuple(ids), "\n".join(lines)
            ids, lines, size = [], [], 0
        if ids[-1:] != [message.id]:
            ids.append(message.id)
            piece = message.with_(text=piece).transcript
        lines.append(piece)
        size += len(piece)
    yield tuple(ids), "\n".join(lines)


def _pieces(text: str, longest: int) -> Iterator[str]:
    """The paragraphs of a long text; a short one is one piece."""
    if len(text) <= longest:
        yield text.strip()
        return
    for paragraph in filter(None, map(str.strip, text.split("\n"))):
        rest = paragraph
        while len(rest) > longest:
            cut = rest.rfind(" ", longest // 2, longest)
            cut = longest if cut < 0 else cut
            yield rest[:cut].strip()
            rest = rest[cut:].strip()
        if rest:
            yield rest
