"""The chats of other applications, as the records that SillyTavern makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from tavernkit.characters.ingest.archive import Archive
from tavernkit.characters.ingest.byaf import read_parts, to_macros
from tavernkit.characters.limits import CardLimits
from tavernkit.chats.chat import ChatFile, ChatLimits
from tavernkit.chats.dates import iso_from_milliseconds
from tavernkit.chats.jsonl import as_text, chat_from_records
from tavernkit.errors import ParseError
from tavernkit.reading import LooseObject, ReportBuilder, kind_of
from tavernkit.text.js_strings import js_trim
from tavernkit.text.js_values import is_truthy
from tavernkit.values import Json, JsonObject

Record: TypeAlias = dict[str, Json]

# What Kobold Lite puts around turns, and between the names of several opponents.
INPUT_MARK = "{{[INPUT]}}"
OUTPUT_MARK = "{{[OUTPUT]}}"
BETWEEN_OPPONENTS = "||$||"
RISU_CHAT = "risuChat"
# SillyTavern's own placeholders: the speakers stand in the messages.
_HEADER: Record = {"chat_metadata": {}, "user_name": "unused", "character_name": "unused"}


class ForeignSpeakers(NamedTuple):
    """Who talks, and the date of messages that have none."""

    user: str
    character: str
    now: str


def find_format(document: Json) -> str | None:
    """The name of the application that wrote a document, asked in SillyTavern's order."""
    if not isinstance(document, dict):
        return None
    return next((name for name, format in _FORMATS.items() if format.matches(document)), None)


def read_foreign(
    name: str, document: JsonObject, speakers: ForeignSpeakers, report: ReportBuilder
) -> tuple[ChatFile, ...]:
    """The chats in a document whose format is known by `find_format`; what no chat has a place for is noted."""
    format = _FORMATS[name]
    chats = tuple(chat_of_records(records, report) for records in format.read(document, speakers, report))
    if not chats:
        raise ParseError("There is no conversation in this file.")
    for key in document:
        if key not in format.keys:
            report.ignored(key, "not supported in chats; left out")
    return chats


def chat_of_records(records: list[Record], report: ReportBuilder) -> ChatFile:
    """A chat whose file has no header of SillyTavern's."""
    return chat_from_records([_HEADER, *records], report)


def _record(name: Json, is_user: bool, send_date: str, **text: Json) -> Record:
    return {"name": name, "is_user": is_user, "send_date": send_date, **text, "extra": {}}


def _text(message: JsonObject, key: str) -> Record:
    """The text under its new name; a message without one stays without one."""
    return {"mes": message[key]} if key in message else {}


def _ooba(document: JsonObject, speakers: ForeignSpeakers, report: ReportBuilder) -> Iterator[list[Record]]:
    """text-generation-webui: pairs of what the user and the character said, where either may be empty."""
    records: list[Record] = []
    for index, pair in enumerate(_list(document["data_visible"], "data_visible")):
        if not isinstance(pair, list):
            report.broken(f"data_visible[{index}]", f"expected a pair of texts, found {kind_of(pair)}")
            continue
        if pair and is_truthy(pair[0]):
            records.append(_record(speakers.user, True, speakers.now, mes=pair[0]))
        if len(pair) > 1 and is_truthy(pair[1]):
            records.append(_record(speakers.character, False, speakers.now, mes=pair[1]))
    yield records


def _agnai(document: JsonObject, speakers: ForeignSpeakers, report: ReportBuilder) -> Iterator[list[Record]]:
    """Agnai: a message is the user's when it has a user's id."""
    records: list[Record] = []
    for message in _objects(_list(document["messages"], "messages"), "messages", ("userId", "msg"), report):
        is_user = is_truthy(message.get("userId"))
        name = speakers.user if is_user else speakers.character
        records.append(_record(name, is_user, speakers.now, **_text(message, "msg")))
    yield records


def _cai(document: JsonObject, speakers: ForeignSpeakers, report: ReportBuilder) -> Iterator[list[Record]]:
    """CAI Tools: many conversations in one file."""
    histories = document["histories"]
    if isinstance(histories, dict):
        histories = histories.get("histories")
    if not isinstance(histories, list):
        return
    for number, history in enumerate(_objects(histories, "histories", ("msgs",), report)):
        where = f"histories[{number}].msgs"
        messages = _list(history.get("msgs"), where)
        records: list[Record] = []
        for message in _objects(messages, where, ("src", "text"), report):
            source = message.get("src")
            is_user = isinstance(source, dict) and is_truthy(source.get("is_human"))
            name = speakers.user if is_user else speakers.character
            records.append(_record(name, is_user, speakers.now, **_text(message, "text")))
        yield records


def _kobold(document: JsonObject, speakers: ForeignSpeakers, report: ReportBuilder) -> Iterator[list[Record]]:
    """Kobold Lite: turns told apart by marks, with the speakers' names among the settings."""
    settings = document["savedsettings"]
    if not isinstance(settings, dict):
        raise ParseError(f"The savedsettings of a Kobold Lite file must be an object, not {kind_of(settings)}.")
    user = _name(settings, "chatname", report)
    character = _name(settings, "chatopponent", report).split(BETWEEN_OPPONENTS)[0]
    prompt = document.get("prompt")
    turns = [("prompt", prompt)] if is_truthy(prompt) else []
    turns += [(f"actions[{index}]", turn) for index, turn in enumerate(_list(document.get("actions"), "actions"))]
    records: list[Record] = []
    for where, turn in turns:
        if not isinstance(turn, str):
            report.broken(where, f"expected text, found {kind_of(turn)}")
            continue
        is_user = INPUT_MARK in turn
        text = js_trim(turn.replace(INPUT_MARK, "").replace(OUTPUT_MARK, ""))
        name = user if is_user else character
        records.append({"name": name, "is_user": is_user, "mes": text, "send_date": speakers.now, "extra": {}})
    yield records


def _risuai(document: JsonObject, speakers: ForeignSpeakers, report: ReportBuilder) -> Iterator[list[Record]]:
    """RisuAI: one chat, or all of a character."""
    if document["type"] == RISU_CHAT:
        yield _risuai_chat(document.get("data"), "data", speakers, report)
        return
    for number, chat in enumerate(_list(document.get("data"), "data")):
        yield _risuai_chat(chat, f"data[{number}]", speakers, report)


def _risuai_chat(data: Json, where: str, speakers: ForeignSpeakers, report: ReportBuilder) -> list[Record]:
    """Messages with roles, some with a name and a time of their own, some left out of prompts."""
    messages = _list(data.get("message") if isinstance(data, dict) else None, f"{where}.message")
    if isinstance(data, dict):
        for key, value in data.items():
            # What every chat has, and says nothing.
            if key != "message" and value not in ("", [], -1, None):
                report.ignored(f"{where}.{key}", "not supported in chats; left out")
    records: list[Record] = []
    for message in _objects(messages, f"{where}.message", ("role", "name", "time", "data", "disabled"), report):
        is_user = message.get("role") == "user"
        name, time, text = message.get("name"), message.get("time"), message.get("data")
        send_date = speakers.now if time is None else iso_from_milliseconds(time)
        if send_date is None:
            report.mended(f"{where}.message[].time", "a time that is none replaced by the current one")
            send_date = speakers.now
        speaker = speakers.user if is_user else speakers.character
        record = _record(speaker if name is None else name, is_user, send_date, mes="" if text is None else text)
        records.append({**record, "is_system": True} if message.get("disabled") is True else record)
    return records


def _objects(items: list[Json], where: str, keys: Iterable[str], report: ReportBuilder) -> Iterator[JsonObject]:
    """Each object of a list; other items are noted, and so is, once, each field that is not among `keys`."""
    known = set(keys)
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            report.broken(f"{where}[{index}]", f"expected an object, found {kind_of(item)}")
            continue
        for key in item.keys() - known:
            report.ignored(f"{where}[].{key}", "not supported in chats; left out")
            known.add(key)
        yield item


def _list(value: Json, where: str) -> list[Json]:
    if not isinstance(value, list):
        raise ParseError(f"The chat has no messages: {where} must be a list, but is {kind_of(value)}.")
    return value


def _name(settings: JsonObject, key: str, report: ReportBuilder) -> str:
    """A name as JavaScript spells it, which for a missing one is `undefined`."""
    if key not in settings:
        report.converted(f"savedsettings.{key}", "missing; the speaker is called undefined, as in SillyTavern")
        return "undefined"
    value = settings[key]
    return "null" if value is None else as_text(value)


class _Format(NamedTuple):
    """How a document is recognised, which of its fields are read, and how."""

    matches: Callable[[JsonObject], bool]
    keys: frozenset[str]
    read: Callable[[JsonObject, ForeignSpeakers, ReportBuilder], Iterator[list[Record]]]


_FORMATS: Mapping[str, _Format] = {
    "kobold_lite": _Format(
        lambda document: "savedsettings" in document, frozenset({"savedsettings", "prompt", "actions"}), _kobold
    ),
    "cai": _Format(lambda document: "histories" in document, frozenset({"histories"}), _cai),
    "ooba": _Format(
        lambda document: isinstance(document.get("data_visible"), list), frozenset({"data_visible", "data"}), _ooba
    ),
    "agnai": _Format(lambda document: isinstance(document.get("messages"), list), frozenset({"messages"}), _agnai),
    "risuai": _Format(
        lambda document: document.get("type") in (RISU_CHAT, "risuAllChats"),
        frozenset({"type", "ver", "data", "folders"}),
        _risuai,
    ),
}


ARCHIVE = b"PK\x03\x04"
"""How an archive begins, which among the files of chats only a BYAF archive is."""


def read_byaf_chats(
    data: bytes, speakers: ForeignSpeakers, limits: ChatLimits, report: ReportBuilder
) -> tuple[ChatFile, ...]:
    """The chats, in the order of the scenarios; the character is called as the archive says."""
    bounds = CardLimits(json_values=limits.values)
    parts = read_parts(Archive(data, bounds), bounds, report)
    named = speakers._replace(character=parts.name or speakers.character)
    chats = tuple(
        chat_from_records(_records(scenario, named), report)
        for scenario in parts.scenarios
        if scenario.items("messages")
    )
    if not chats:
        raise ParseError("There is no conversation in this archive: none of its scenarios has messages.")
    return chats


def _records(scenario: LooseObject, speakers: ForeignSpeakers) -> Iterator[dict[str, Json]]:
    narrative = to_macros(scenario.text("narrative"))
    yield {
        "chat_metadata": {"scenario": narrative} if narrative else {},
        "user_name": speakers.user,
        "character_name": speakers.character,
    }
    messages = [_message(message, speakers) for message in scenario.objects("messages")]
    # The greeting stands apart from the messages, but may have been written among them, too.
    for greeting in list(scenario.objects("firstMessages"))[:1]:
        text = to_macros(greeting.text("text"))
        first = messages[0] if messages else _record("", True, speakers.now, mes="")
        swipes = first.get("swipes")
        if text and text not in (swipes if isinstance(swipes, list) else [first["mes"]]):
            yield _record(speakers.character, False, str(first["send_date"]), mes=text)
    yield from messages


def _message(message: LooseObject, speakers: ForeignSpeakers) -> dict[str, Json]:
    if message.text("type") != "ai":
        date = message.text("createdAt") or speakers.now
        return _record(speakers.user, True, date, mes=to_macros(message.text("text")))
    outputs = list(message.objects("outputs"))
    texts = [to_macros(output.text("text")) for output in outputs] or [""]
    dates = [output.text("createdAt") or speakers.now for output in outputs] or [speakers.now]
    active = [output.text("activeTimestamp") for output in outputs] or [""]
    chosen = active.index(max(active))
    record = _record(speakers.character, False, dates[chosen], mes=texts[chosen])
    if len(outputs) < 2:
        return record
    swipes = [{"send_date": date, "extra": {}} for date in dates]
    return {**record, "swipe_id": chosen, "swipes": texts, "swipe_info": swipes}
