"""One door for chats: what a file is, is seen from what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import IO

from tavernkit.chats.chat import DEFAULT_LIMITS, ChatFile, ChatHeader, ChatLimits, ChatMessage, StrayLine
from tavernkit.chats.dates import iso_date
from tavernkit.chats.foreign import ARCHIVE, ForeignSpeakers, find_format, read_byaf_chats, read_foreign
from tavernkit.chats.jsonl import CRLF, LineReader, parse_line, read_jsonl
from tavernkit.chats.transcripts import read_transcript
from tavernkit.errors import ParseError
from tavernkit.importers import shared_importers
from tavernkit.reading import Imported, ReportBuilder, Source, decode_text, open_source, parse_json
from tavernkit.values import Json

NO_CHAT = (
    "This is no chat that can be read here. Expected a chat of SillyTavern or Chub (lines of JSON, the first of which "
    "has user_name, name or chat_metadata), or a JSON file of text-generation-webui (data_visible), Agnai (messages), "
    "CAI Tools (histories), Kobold Lite (savedsettings) or RisuAI (type risuChat), a Backyard archive (BYAF), or "
    "text or Markdown in which each message begins with the name of its speaker."
)


def read_chat(
    source: Source,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    user_name: str = "User",
    character_name: str = "Character",
    limits: ChatLimits = DEFAULT_LIMITS,
    strict: bool = False,
) -> Imported[tuple[ChatFile, ...]]:
    """Read the chats of a file of any known application: nearly always exactly one, and never none.

    The names and `now` fill in what other applications do not say. A damaged line is kept as a `StrayLine` and noted
    in the report, unless the reader is strict. Raises ParseError when the file is no chat.
    """
    report = ReportBuilder()
    speakers = ForeignSpeakers(user=user_name or "User", character=character_name or "Character", now=iso_date(now()))
    data, file = open_source(source, max_bytes=limits.file_bytes, what="The chat")
    if not isinstance(data, Mapping) and len(data) <= limits.file_bytes:
        imported = shared_importers().chats.read(data)
        if imported is not None:
            chat, format = imported
            return Imported((chat,), report.build(format, file=file))
    chats, format = _read(data, speakers, limits, report)
    return Imported(chats, report.build(format, file=file, strict=strict))


def _read(
    data: bytes | str | Mapping[str, Json], speakers: ForeignSpeakers, limits: ChatLimits, report: ReportBuilder
) -> tuple[tuple[ChatFile, ...], str]:
    """The chats, and the name of their format."""
    if isinstance(data, Mapping):
        return _read_document(dict(data), speakers, report)
    if isinstance(data, bytes) and data.startswith(ARCHIVE):
        _check_size(data, limits)
        return read_byaf_chats(data, speakers, limits, report), "byaf"
    text, is_escaped = _text(data, limits, report)
    head, _, rest = text.lstrip().partition("\n")
    has_more = bool(rest) and not rest.isspace()
    first = parse_line(head, limits)
    if isinstance(first, dict) and (has_more or find_format(first) is None):
        if not _begins_chat(first, has_more):
            raise ParseError(NO_CHAT)
        chat, format = read_jsonl(text, limits, report, is_escaped=is_escaped)
        return (chat,), format
    if text.lstrip()[0] not in "{[":
        transcript = read_transcript(text, speakers, limits, report)
        if transcript is not None:
            return (transcript[0],), transcript[1]
    try:
        document = first
        if not isinstance(first, dict):
            document = parse_json(text, what="The chat", max_bytes=limits.file_bytes, max_values=limits.values)
    except ParseError:
        # One damaged line at the beginning must not cost all the messages behind it.
        chat, format = read_jsonl(text, limits, report, is_escaped=is_escaped)
        if not any("mes" in message.keys for message in chat.messages):
            raise
        return (chat,), format
    return _read_document(document, speakers, report)


def _read_document(
    document: Json, speakers: ForeignSpeakers, report: ReportBuilder
) -> tuple[tuple[ChatFile, ...], str]:
    foreign = find_format(document)
    if foreign is None or not isinstance(document, dict):
        raise ParseError(NO_CHAT)
    return read_foreign(foreign, document, speakers, report), foreign


def _check_size(data: bytes | str, limits: ChatLimits) -> None:
    if len(data) > limits.file_bytes:
        raise ParseError(f"The chat is {len(data):,} bytes long; at most {limits.file_bytes:,} are read.")


def _text(data: bytes | str, limits: ChatLimits, report: ReportBuilder) -> tuple[str, bool]:
    """The text, and whether surrogates stand in it for bytes that are not UTF-8."""
    _check_size(data, limits)
    text, is_escaped = (data, False) if isinstance(data, str) else _decode(data, report)
    if text.startswith("\ufeff"):
        report.converted("", BYTE_ORDER_MARK)
        text = text[1:]
    if not text or text.isspace():
        raise ParseError("The file is empty.")
    return text, is_escaped


BYTE_ORDER_MARK = "the byte order mark at the beginning was left out"
NOT_UTF8 = "not all of the file is UTF-8; what could not be read became U+FFFD"


def _decode(data: bytes, report: ReportBuilder) -> tuple[str, bool]:
    try:
        return data.decode(), False
    except UnicodeDecodeError:
        report.mended("", NOT_UTF8)
        # Raises for what is no text at all.
        text = decode_text(data, what="The chat")
        is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        return (text, False) if is_utf16 else (data.decode("utf-8-sig", "surrogateescape"), True)


def stream_chat(
    file: IO[bytes], *, report: ReportBuilder, limits: ChatLimits = DEFAULT_LIMITS
) -> Iterator[ChatHeader | ChatMessage | StrayLine]:
    """Read a file of SillyTavern line by line, however long it is: the same header, messages and stray lines that
    `read_chat` gives, one after the other. Raises ParseError when it is no chat, or a line is longer than the limit."""
    reader = LineReader(limits, report)
    is_chat, has_text, is_damaged = False, False, False
    for text, is_escaped in _lines(file, limits, report):
        line = reader.read(text, is_escaped=is_escaped)
        if isinstance(line, StrayLine):
            is_damaged = is_damaged or not (is_chat or not text or text.isspace())
        else:
            if not is_chat and not is_damaged and not _BEGINNING.intersection(line.keys):
                raise ParseError(NO_CHAT)
            is_chat, has_text = True, has_text or "mes" in line.keys
        yield line
    if not is_chat or (is_damaged and not has_text):
        raise ParseError(NO_CHAT if is_chat or is_damaged else "The file is empty.")


_BEGINNING = frozenset({"user_name", "chat_metadata", "name"})
"""One of these is in the first line of a chat."""


def _lines(file: IO[bytes], limits: ChatLimits, report: ReportBuilder) -> Iterator[tuple[str, bool]]:
    """Each line without its end, and whether surrogates stand in it for bytes that are not UTF-8."""
    number, ends, has_crlf = 0, True, False
    while ends:
        data = file.readline(limits.line_length + 2)
        number += 1
        if number > limits.lines:
            raise ParseError(f"The chat has more than {limits.lines:,} lines, which is the limit.")
        ends = data.endswith(b"\n")
        data = data.removesuffix(b"\n")
        if len(data) > limits.line_length:
            raise ParseError(f"Line {number} of the chat has more than {limits.line_length:,} bytes.")
        if number == 1 and data.startswith(b"\xef\xbb\xbf"):
            report.converted("", BYTE_ORDER_MARK)
            data = data[3:]
        if not has_crlf and ends and data.endswith(b"\r"):
            has_crlf = True
            report.converted("", CRLF)
        try:
            yield data.decode(), False
        except UnicodeDecodeError:
            report.mended(f"line {number}", "not all of the line is UTF-8; what could not be read became U+FFFD")
            yield data.decode("utf-8", "surrogateescape"), True


def _begins_chat(record: dict[str, Json], has_more: bool) -> bool:
    """Whether a first line is SillyTavern's. A name alone is little: character cards have one too."""
    if "user_name" in record or "chat_metadata" in record:
        return True
    return "name" in record and (has_more or "mes" in record)
