"""The chats of a Backyard archive (BYAF): one for each scenario with messages."""

from __future__ import annotations

from collections.abc import Iterator

from tavernkit.characters.ingest.archive import Archive
from tavernkit.characters.ingest.byaf import read_parts, to_macros
from tavernkit.characters.limits import CardLimits
from tavernkit.chats.chat import ChatFile
from tavernkit.chats.foreign import ForeignSpeakers
from tavernkit.chats.jsonl import chat_from_records
from tavernkit.chats.limits import ChatLimits
from tavernkit.errors import ParseError
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json

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
        first = messages[0] if messages else _record("", is_user=True, date=speakers.now, text="")
        swipes = first.get("swipes")
        if text and text not in (swipes if isinstance(swipes, list) else [first["mes"]]):
            yield _record(speakers.character, is_user=False, date=str(first["send_date"]), text=text)
    yield from messages


def _message(message: LooseObject, speakers: ForeignSpeakers) -> dict[str, Json]:
    if message.text("type") != "ai":
        date = message.text("createdAt") or speakers.now
        return _record(speakers.user, is_user=True, date=date, text=to_macros(message.text("text")))
    outputs = list(message.objects("outputs"))
    texts = [to_macros(output.text("text")) for output in outputs] or [""]
    dates = [output.text("createdAt") or speakers.now for output in outputs] or [speakers.now]
    active = [output.text("activeTimestamp") for output in outputs] or [""]
    chosen = active.index(max(active))
    record = _record(speakers.character, is_user=False, date=dates[chosen], text=texts[chosen])
    if len(outputs) < 2:
        return record
    swipes = [{"send_date": date, "extra": {}} for date in dates]
    return {**record, "swipe_id": chosen, "swipes": texts, "swipe_info": swipes}


def _record(name: str, *, is_user: bool, date: str, text: str) -> dict[str, Json]:
    return {"name": name, "is_user": is_user, "send_date": date, "mes": text, "extra": {}}
