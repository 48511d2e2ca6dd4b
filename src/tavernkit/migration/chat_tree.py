"""Which chat was copied from which: branches and checkpoints of SillyTavern, found again by links, messages and names.

SillyTavern copies the first messages of a chat into a new file. The message where it does so may name the copy, and the
header of the copy may name the original; renaming a chat changes neither. So links are believed where they agree, or
where the messages confirm them; messages or names alone make a guess.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import IO, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from tavernkit.chats.chat import DEFAULT_LIMITS, ChatLimits, Date
from tavernkit.chats.jsonl import parse_line
from tavernkit.migration.names import Names, sanitised
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, Value

CopyKind: TypeAlias = Literal["branch", "checkpoint"]

_HASH = 8
_PLACE = 4
_RECORD = _PLACE + _HASH


class ChatLink(NamedTuple):
    """The message with this number, counted from 0, names a copy that was made there."""

    message: int
    name: str
    kind: CopyKind


class ChatDigest(Value, frozen=True, kw_only=True):
    """What is known of a chat without its texts.

    `main_chat` is the chat that it says it was copied from, `persona` and `world` are what it says it is used with.
    `messages` has eight bytes of a hash for each message, of its first swipe where it has swipes; `swipes` has one for
    each swipe of messages with several, behind four bytes with the number of the message. `is_timed` says that the date
    of the first message is no mere minute or day. `damaged` counts lines that hold no message.
    """

    user_name: str = ""
    character_name: str = ""
    main_chat: str = ""
    persona: str = ""
    world: str = ""
    links: tuple[ChatLink, ...] = ()
    messages: bytes = b""
    swipes: bytes = b""
    is_timed: bool = False
    damaged: int = 0

    @property
    def count(self) -> int:
        """How many messages it has."""
        return len(self.messages) // _HASH


class ChatPlace(Value, frozen=True, kw_only=True):
    """Where a chat belongs: `parent` is the path of the chat that it was copied from, `fork` how many messages it has
    in common with that. `certain` is False for a guess. A chat of its own has no parent and the depth 0."""

    parent: str | None = None
    fork: int = 0
    certain: bool = True
    kind: CopyKind = "branch"
    depth: int = 0


class _Extra(msgspec.Struct):
    bookmark_link: str | None = None
    branches: list[str] | None = None


class _SwipeInfo(msgspec.Struct):
    send_date: Date = None


class _Metadata(msgspec.Struct):
    main_chat: str | None = None
    persona: str | None = None
    world_info: str | None = None


class _Line(msgspec.Struct):
    """What is looked at in a line, in the types that nearly all lines have."""

    name: str = ""
    is_user: bool | UnsetType = UNSET
    mes: str | UnsetType = UNSET
    send_date: Date = None
    swipes: list[str] | None = None
    swipe_info: list[_SwipeInfo] | None = None
    extra: _Extra | None = None
    chat_metadata: _Metadata | UnsetType = UNSET
    user_name: str = ""
    character_name: str = ""


_DECODER = msgspec.json.Decoder(_Line)
_MARK = b"\xef\xbb\xbf"


def digest_chat(file: IO[bytes], *, limits: ChatLimits = DEFAULT_LIMITS) -> ChatDigest:
    """Read a chat line by line, however long it is. No line makes this fail: what holds no message is counted."""
    builder = _DigestBuilder()
    for line in _lines(file, limits.line_length):
        if not line or line.isspace():
            continue
        record = _read(line, limits)
        if record is None:
            builder.damaged += 1
        else:
            builder.add(record)
    return builder.build()


def chat_trees(chats: Iterable[tuple[str, ChatDigest]]) -> dict[str, ChatPlace]:
    """Where each chat belongs, by its path. Only chats of one folder are copies of each other.

    A chat is a copy of another when (1) each names the other, or (2) one names the other and both begin with the same
    messages; (3) when only messages or names say so, it is a guess; (4) else it is a chat of its own, also where links
    lead nowhere or in a circle.
    """
    folders: defaultdict[str, list[_Chat]] = defaultdict(list)
    for path, digest in chats:
        folder, _, name = path.rpartition("/")
        folders[folder].append(_Chat(path, name.removesuffix(".jsonl"), digest))
    return {chat.path: place for found in folders.values() for chat, place in _places(found)}


def _lines(file: IO[bytes], limit: int) -> Iterator[bytes]:
    """Each line; of one that is too long, only so much that it cannot be taken for a line that is whole."""
    is_first = True
    while line := file.readline(limit + 1):
        if len(line) > limit and not line.endswith(b"\n"):
            while (more := file.readline(limit + 1)) and not more.endswith(b"\n"):
                continue
            line = b"{"
        yield line.removeprefix(_MARK) if is_first else line
        is_first = False


def _read(line: bytes, limits: ChatLimits) -> _Line | None:
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _read_unusual(line, limits)


def _read_unusual(line: bytes, limits: ChatLimits) -> _Line | None:
    """A line with values of other types than usual, which stand in for the text that they would be in JSON."""
    record = parse_line(line.decode("utf-8", "replace"), limits)
    if not isinstance(record, dict):
        return None
    extra, header = _object(record.get("extra")), _object(record.get("chat_metadata"))
    metadata = _Metadata(*(_optional(header.get(key)) for key in ("main_chat", "persona", "world_info")))
    return _Line(
        name=_text(record.get("name", "")),
        is_user=bool(record["is_user"]) if "is_user" in record else UNSET,
        mes=_text(record["mes"]) if "mes" in record else UNSET,
        send_date=_date(record.get("send_date")),
        swipes=list(map(_text, _list(record.get("swipes")))),
        swipe_info=[_SwipeInfo(_date(_object(info).get("send_date"))) for info in _list(record.get("swipe_info"))],
        extra=_Extra(
            _optional(extra.get("bookmark_link")),
            [name for name in _list(extra.get("branches")) if isinstance(name, str)],
        ),
        chat_metadata=metadata if "chat_metadata" in record else UNSET,
        user_name=_text(record.get("user_name", "")),
        character_name=_text(record.get("character_name", "")),
    )


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else to_json(value)


def _optional(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _date(value: Json) -> Date:
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None


_SECONDS = re.compile(r":\d\d:\d\d|m ?\d+s")


def _is_timed(date: Date) -> bool:
    return date is not None and (not isinstance(date, str) or _SECONDS.search(date) is not None)


def _hash(name: str, is_user: bool, date: Date, text: str) -> bytes:
    whole = f"{len(name)}{'u' if is_user else 'c'}{name}{date!r} {text}"
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()


class _DigestBuilder:
    """Collects what is looked at, line by line."""

    def __init__(self) -> None:
        self.damaged = 0
        self._header: _Line | None = None
        self._count = 0
        self._is_timed = False
        self._messages = bytearray()
        self._swipes = bytearray()
        self._links: list[ChatLink] = []

    def add(self, line: _Line) -> None:
        is_header = line.chat_metadata is not UNSET or (line.mes is UNSET and line.is_user is UNSET)
        if is_header and self._header is None and not self._count:
            self._header = line
            return
        if not self._count:
            self._is_timed = _is_timed(line.send_date)
        is_user = line.is_user is True
        text = "" if isinstance(line.mes, UnsetType) else line.mes
        if line.swipes:
            # A copy that shows another swipe has all the others too, and the first stays the first.
            first = line.swipe_info[0].send_date if line.swipe_info else None
            date = line.send_date if first is None else first
            self._messages += _hash(line.name, is_user, date, line.swipes[0])
            if line.swipes != [text]:
                place = self._count.to_bytes(_PLACE, "big")
                for swipe in dict.fromkeys((text, *line.swipes)):
                    self._swipes += place + _hash(line.name, is_user, None, swipe)
        else:
            self._messages += _hash(line.name, is_user, line.send_date, text)
        if line.extra is not None:
            self._add_links(line.extra)
        self._count += 1

    def _add_links(self, extra: _Extra) -> None:
        if extra.bookmark_link:
            self._links.append(ChatLink(self._count, extra.bookmark_link, "checkpoint"))
        self._links += [ChatLink(self._count, name, "branch") for name in extra.branches or () if name]

    def build(self) -> ChatDigest:
        header = self._header or _Line()
        metadata = _Metadata() if isinstance(header.chat_metadata, UnsetType) else header.chat_metadata
        return ChatDigest(
            user_name=header.user_name,
            character_name=header.character_name,
            main_chat=metadata.main_chat or "",
            persona=metadata.persona or "",
            world=metadata.world_info or "",
            links=tuple(self._links),
            messages=bytes(self._messages),
            swipes=bytes(self._swipes),
            is_timed=self._is_timed,
            damaged=self.damaged,
        )


class _Chat(NamedTuple):
    path: str
    name: str
    digest: ChatDigest


class _Edge(NamedTuple):
    """A chat is a copy of `parent`, which has `fork` messages in common with it."""

    parent: _Chat
    fork: int
    certain: bool
    kind: CopyKind


# Names of copies today, and two older ways to name them.
_NAMED_BEHIND = re.compile(r"(?P<base>.+?)(?: - (?P<kind>Branch|Checkpoint)| (?P<old>Bookmark)) #\d+", re.DOTALL)
_NAMED_BEFORE = re.compile(r"(?P<kind>Branch|Swipe|Checkpoint|Bookmark) #\d+ - .*", re.DOTALL)
_KINDS: Mapping[str, CopyKind] = {
    "Branch": "branch",
    "Swipe": "branch",
    "Checkpoint": "checkpoint",
    "Bookmark": "checkpoint",
}


class _CopyName(NamedTuple):
    """What the name of a copy says: its kind, and, unless it is "", the name of the chat that it was copied from."""

    kind: CopyKind
    base: str


def _copy_name(name: str) -> _CopyName | None:
    if found := _NAMED_BEHIND.fullmatch(name):
        return _CopyName(_KINDS[found["kind"] or found["old"]], found["base"])
    found = _NAMED_BEFORE.fullmatch(name)
    return None if found is None else _CopyName(_KINDS[found["kind"]], "")


def _order(chat: _Chat) -> tuple[bool, str]:
    """Which of two chats is rather the copy of the other: one that is named so, else the one with the later date, which
    names of chats end with."""
    return _copy_name(chat.name) is not None, chat.name


def _places(chats: list[_Chat]) -> Iterator[tuple[_Chat, ChatPlace]]:
    chats = sorted(chats, key=_order)
    folder = _Folder(chats)
    edges = {chat.path: edge for chat in chats if (edge := folder.linked(chat)) is not None}
    for path in _circular(edges):
        del edges[path]
    _guess(folder, edges)
    depths: dict[str, int] = {}
    for chat in chats:
        edge = edges.get(chat.path)
        depth = _depth(chat.path, edges, depths)
        if edge is None:
            yield chat, ChatPlace()
        else:
            yield (
                chat,
                ChatPlace(parent=edge.parent.path, fork=edge.fork, certain=edge.certain, kind=edge.kind, depth=depth),
            )


class _Folder:
    """The chats of one folder in their order, and which of them name each other."""

    def __init__(self, chats: list[_Chat]) -> None:
        self.chats = chats
        self._names = Names(chat.name for chat in chats)
        self._by_name = {chat.name: chat for chat in chats}
        self._named_by: defaultdict[str, dict[str, tuple[_Chat, CopyKind]]] = defaultdict(dict)
        for chat in chats:
            for link in chat.digest.links:
                copy = self.find(link.name)
                if copy is not None and copy is not chat:
                    self._named_by[copy.path].setdefault(chat.path, (chat, link.kind))

    def find(self, name: str) -> _Chat | None:
        """The chat that a link leads to; links have names as people wrote them, files as file systems take them."""
        found = self._names.find(name) or self._names.find(sanitised(name)) if name else None
        return None if found is None else self._by_name[found]

    def linked(self, chat: _Chat) -> _Edge | None:
        """What a chat is a copy of, as far as links say so."""
        named_by = self._named_by.get(chat.path, {})
        main = self.find(chat.digest.main_chat)
        if main is not None and main.path in named_by:
            return _Edge(main, common_messages(main.digest, chat.digest), True, named_by[main.path][1])
        candidates = list(named_by.values())
        if main is not None and main is not chat:
            candidates.insert(0, (main, _kind_of(chat)))
        best: _Edge | None = None
        for parent, kind in candidates:
            # Copies have the links of what they were copied from: of several, the first that has most in common.
            fork = common_messages(parent.digest, chat.digest)
            if fork > (0 if best is None else best.fork):
                best = _Edge(parent, fork, True, kind)
        return best


def _kind_of(chat: _Chat) -> CopyKind:
    copy = _copy_name(chat.name)
    return "branch" if copy is None else copy.kind


def _circular(edges: Mapping[str, _Edge]) -> set[str]:
    """The chats that are copies of copies of themselves."""
    circular: set[str] = set()
    done: set[str] = set()
    for start in edges:
        way: dict[str, None] = {}
        path: str | None = start
        while path is not None and path not in done and path not in way:
            way[path] = None
            edge = edges.get(path)
            path = None if edge is None else edge.parent.path
        if path is not None and path in way:
            on_way = list(way)
            circular.update(on_way[on_way.index(path) :])
        done.update(way)
    return circular


def _guess(folder: _Folder, edges: dict[str, _Edge]) -> None:
    """Find what chats without believable links may be copies of: of what comes before them, the chat that has most
    messages in common. What is linked to a chat comes with it, so that no guess leads in a circle."""
    copies: defaultdict[str, list[_Chat]] = defaultdict(list)
    for chat in folder.chats:
        if (edge := edges.get(chat.path)) is not None:
            copies[edge.parent.path].append(chat)
    earlier = _Sorted(edges)
    for root in [chat for chat in folder.chats if chat.path not in edges]:
        guess = _guessed(folder, earlier, root)
        if guess is not None:
            edges[root.path] = guess
        waiting = [root]
        while waiting:
            chat = waiting.pop()
            earlier.add(chat)
            waiting += copies[chat.path]


def _guessed(folder: _Folder, earlier: _Sorted, chat: _Chat) -> _Edge | None:
    copy = _copy_name(chat.name)
    nearest = earlier.nearest(chat)
    fork = 0 if nearest is None else common_messages(nearest.digest, chat.digest)
    base = folder.find(copy.base) if copy is not None else None
    if base is not None and base.path in earlier.paths:
        in_common = common_messages(base.digest, chat.digest)
        if in_common >= fork:
            return _Edge(base, in_common, False, _kind_of(chat))
    # Two chats may begin with the same greeting in the same minute.
    is_enough = fork > 1 or (fork == 1 and (copy is not None or chat.digest.is_timed))
    return _Edge(nearest, fork, False, _kind_of(chat)) if nearest is not None and is_enough else None


class _Sorted:
    """Chats by their messages: of all, a neighbour has most messages in common with a chat."""

    def __init__(self, edges: Mapping[str, _Edge]) -> None:
        self.paths: set[str] = set()
        self._edges = edges
        self._keys: list[bytes] = []
        self._chats: list[_Chat] = []

    def add(self, chat: _Chat) -> None:
        place = bisect_left(self._keys, chat.digest.messages)
        self._keys.insert(place, chat.digest.messages)
        self._chats.insert(place, chat)
        self.paths.add(chat.path)

    def nearest(self, chat: _Chat) -> _Chat | None:
        """A chat with most messages in common; of several, the one that the others are copies of."""
        place = bisect_left(self._keys, chat.digest.messages)
        neighbours = self._chats[max(0, place - 1) : place + 1]
        best = max(neighbours, key=lambda other: common_messages(other.digest, chat.digest), default=None)
        if best is None:
            return None
        fork = common_messages(best.digest, chat.digest)
        while (edge := self._edges.get(best.path)) is not None and edge.fork >= fork:
            best = edge.parent
        return best


def common_messages(one: ChatDigest, other: ChatDigest) -> int:
    """With how many messages both chats begin, whichever of its swipes a message shows."""
    size = min(one.count, other.count)
    place = 0
    while True:
        place = _equal_until(one.messages, other.messages, place, size)
        if place == size or not _share_swipe(one, other, place):
            return place
        place += 1


def _equal_until(one: bytes, other: bytes, place: int, size: int) -> int:
    """The first place where hashes differ, or `size`."""
    if one[place * _HASH : size * _HASH] == other[place * _HASH : size * _HASH]:
        return size
    first, last = place, size
    while last - first > 1:
        middle = (first + last) // 2
        if one[first * _HASH : middle * _HASH] == other[first * _HASH : middle * _HASH]:
            first = middle
        else:
            last = middle
    return first


def _share_swipe(one: ChatDigest, other: ChatDigest, place: int) -> bool:
    return not _hashes_at(one, place).isdisjoint(_hashes_at(other, place))


def _hashes_at(digest: ChatDigest, place: int) -> set[bytes]:
    hashes = {digest.messages[place * _HASH : (place + 1) * _HASH]}
    swipes, number = digest.swipes, place.to_bytes(_PLACE, "big")
    starts = range(0, len(swipes), _RECORD)
    for start in starts[bisect_left(starts, number, key=lambda at: swipes[at : at + _PLACE]) :]:
        if not swipes.startswith(number, start):
            break
        hashes.add(swipes[start + _PLACE : start + _RECORD])
    return hashes


def _depth(path: str, edges: Mapping[str, _Edge], depths: dict[str, int]) -> int:
    way: list[str] = []
    while path not in depths and path in edges:
        way.append(path)
        path = edges[path].parent.path
    depth = depths.setdefault(path, 0)
    for below in reversed(way):
        depth += 1
        depths[below] = depth
    return depth
