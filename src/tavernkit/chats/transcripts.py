"""Chats that were written for people, read back: Markdown and plain text in which messages begin with a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tavernkit.chats.chat import ChatFile, ChatLimits
from tavernkit.chats.foreign import ForeignSpeakers, Record, chat_of_records
from tavernkit.chats.forms import MARK
from tavernkit.errors import ParseError
from tavernkit.reading import ReportBuilder
from tavernkit.values import Json

_TITLE = re.compile(r"# .*")
_HEADING = re.compile(r"###(?: (?P<name>.*?))??(?: <!-- (?P<role>user|narrator) -->)?")
_ESCAPED_HEADING = re.compile(r"^\\(?=\\*###(?:\s|$))", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>#])")
_PICTURE = re.compile(r"!\[(?P<title>(?:[^\]\\]|\\.)*)\]\(<(?P<url>[^<>]*)>\)")
_BOLD = re.compile(r"\*\*(?P<name>[^*\n]{1,80}?)(?::\*\*|\*\*:)(?:[ \t]+(?P<text>.*))?")
# A name of a few words; what begins like a list, a quotation or JSON is none.
_PLAIN = re.compile(
    r"(?P<name>[^\s:*#>|\-\"'`{}\[\]<][^\s:\"{}\[\]<>]*(?: [^\s:\"{}\[\]<>]+){0,3}):(?:[ \t]+(?P<text>.*))?"
)
_LONGEST_NAME = 60


class _Part(NamedTuple):
    """A message as it was found: who speaks, and the lines that they say."""

    name: str
    lines: list[str]
    role: str | None = None


def read_transcript(
    text: str, speakers: ForeignSpeakers, limits: ChatLimits, report: ReportBuilder
) -> tuple[ChatFile, str] | None:
    """The chat, and the name of its format; None for text that is no chat."""
    if text.count("\n") >= limits.lines:
        raise ParseError(f"The chat has {text.count(chr(10)) + 1:,} lines; at most {limits.lines:,} are read.")
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    is_marked = lines[0].strip() == MARK
    lines = _from_first(lines, 1 if is_marked else 0)
    if lines and _TITLE.fullmatch(lines[0]):
        lines = _from_first(lines, 1)
    if is_marked or (lines and _HEADING.fullmatch(lines[0])):
        parts, format = _headed(lines), "markdown"
    else:
        parts, format = _named(lines, speakers)
    if is_marked:
        return chat_of_records([_record(part, None, speakers) for part in parts], report), format
    if not parts or (len(parts) == 1 and parts[0].name not in (speakers.user, speakers.character)):
        return None
    user = _user(parts, speakers)
    if user is not None and user != speakers.user:
        report.converted("", f"the file does not say who the user is; messages of {user[:80]} are read as the user's")
    return chat_of_records([_record(part, user, speakers) for part in parts], report), format


def _from_first(lines: list[str], start: int) -> list[str]:
    """The lines from the first one that is not blank."""
    return lines[next((place for place in range(start, len(lines)) if lines[place].strip()), len(lines)) :]


def _user(parts: list[_Part], speakers: ForeignSpeakers) -> str | None:
    """Who of the speakers is the user, where no heading says so; of two whom nobody knows, the one who speaks second,
    because characters begin with a greeting."""
    names = list(dict.fromkeys(part.name for part in parts))
    if any(part.role for part in parts):
        return None
    if speakers.user in names:
        return speakers.user
    return next(name for name in reversed(names) if name != speakers.character) if len(names) == 2 else None


def _record(part: _Part, user: str | None, speakers: ForeignSpeakers) -> Record:
    extra: dict[str, Json] = {"type": "narrator"} if part.role == "narrator" else {}
    if media := _take_pictures(part.lines):
        extra |= {"media": media, "media_index": 0, "media_display": "list", "inline_image": True}
    text = "\n".join(part.lines).strip("\n")
    if part.role is not None:
        text = _ESCAPED_HEADING.sub("", text)
    is_user = part.role == "user" if user is None else part.name == user
    return {"name": part.name, "is_user": is_user, "send_date": speakers.now, "mes": text, "extra": extra}


def _take_pictures(lines: list[str]) -> list[Json]:
    """Remove the addresses of pictures from the end of a message; one without an address is lost."""
    media: list[Json] = []
    while lines and (not lines[-1] or _PICTURE.fullmatch(lines[-1])):
        found = _PICTURE.fullmatch(lines.pop())
        if found and found["url"]:
            media.append({"url": found["url"], "type": "image", "title": _ESCAPED.sub(r"\1", found["title"])})
    return media[::-1]


def _headed(lines: list[str]) -> list[_Part]:
    """Messages below headings of the third level; nothing may stand before the first."""
    parts: list[_Part] = []
    for line in lines:
        heading = _HEADING.fullmatch(line.rstrip())
        if heading:
            name = _ESCAPED.sub(r"\1", heading["name"] or "")
            parts.append(_Part(name, [], heading["role"] or ""))
        elif parts:
            parts[-1].lines.append(line)
        elif line.strip():
            return []
    return parts


def _named(lines: list[str], speakers: ForeignSpeakers) -> tuple[list[_Part], str]:
    """Messages that begin with a name and a colon, and the name of the format."""
    is_bold = bool(lines) and _BOLD.match(lines[0]) is not None
    starts = dict(_starts(lines, is_bold, speakers))
    behind_blank = {place for place in starts if place == 0 or not lines[place - 1].strip()}
    if 2 * len(behind_blank) > len(starts):
        # Messages are paragraphs, and a name inside one is part of what is said.
        starts = {place: found for place, found in starts.items() if place in behind_blank}
    counts = Counter(name for name, _ in starts.values())
    # One who speaks once may be a word with a colon, such as "Note:"; not so if only two speak at all.
    known = {name for name, count in counts.items() if count > 1 or len(counts) <= 2}
    known |= {speakers.user, speakers.character} | ({starts[0][0]} if 0 in starts else set())
    parts: list[_Part] = []
    for place, line in enumerate(lines):
        found = starts.get(place)
        if found is not None and found[0] in known:
            parts.append(_Part(found[0], [found[1]]))
        elif parts:
            parts[-1].lines.append(line)
        else:
            return [], "text"
    return parts, "markdown" if is_bold else "text"


def _starts(lines: list[str], is_bold: bool, speakers: ForeignSpeakers) -> Iterator[tuple[int, tuple[str, str]]]:
    """The places of lines that begin with a name, with the name and what follows it."""
    for place, line in enumerate(lines):
        given = next((name for name in (speakers.user, speakers.character) if line.startswith(f"{name}:")), None)
        if given is not None and not is_bold:
            yield place, (given, line[len(given) + 1 :].lstrip(" \t"))
        elif (found := (_BOLD if is_bold else _PLAIN).fullmatch(line)) and len(found["name"]) <= _LONGEST_NAME:
            yield place, (found["name"].strip(), found["text"] or "")
