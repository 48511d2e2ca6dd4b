"""One message of a chat file and one message here, each made of the other without loss.

Likewise the first line of a file and what a conversation knows beside its messages: variables, the author's note and
injections.

A message that came from a file keeps, in its metadata under `sillytavern`, what the file said beside the texts; so does
each swipe. What our own messages have and SillyTavern's do not goes into the file under `tavernkit`, where SillyTavern
leaves it alone.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from pydantic import ValidationError

from tavernkit.chats import ChatFile, ChatHeader, ChatMessage, StrayLine
from tavernkit.chats.dates import iso_date
from tavernkit.playground.base.database.models import ConversationInjection, MessagePicture
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.chatfiles.pictures import has_pictures, named_in_files, pictures_in, written_extra
from tavernkit.playground.story.paths.injections import MAX_INJECTIONS, MAX_NAME_CHARACTERS, InjectionIn
from tavernkit.playground.story.paths.state import State
from tavernkit.playground.story.paths.writing import REASONING
from tavernkit.playground.story.settings_schema.resolving import read_patch
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject, Value

THEIRS = "sillytavern"
OURS = "tavernkit"

_TEXTS = frozenset({"text", "swipes", "swipe_info"})
_FIELDS = {
    field.name: field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    for field in msgspec.structs.fields(ChatMessage)
    if field.name not in _TEXTS
}


class NewSwipe(Value, frozen=True, kw_only=True):
    """A swipe to be stored; of its pictures the kind, the hash and the title."""

    text_id: UUID
    text: str
    metadata: dict[str, Json]
    state_delta: dict[str, Json] | None = None
    pictures: tuple[tuple[str, str, str], ...] = ()


class NewMessage(Value, frozen=True, kw_only=True):
    """A message to be stored; `active` is the place of its active swipe."""

    role: str
    visibility: str
    active: int
    swipes: tuple[NewSwipe, ...]
    metadata: dict[str, Json]


class ExportedSwipe(NamedTuple):
    """A swipe as it is stored."""

    message_id: UUID
    id: UUID
    text_id: UUID
    text: str
    metadata: JsonObject
    state_delta: JsonObject | None
    created_at: datetime
    pictures: Sequence[MessagePicture] = ()


class ExportedMessage(Value, frozen=True, kw_only=True):
    """A message as it is stored; `avatar` is the file of its author's card, which only groups tell."""

    id: UUID
    name: str
    avatar: str | None
    role: str
    visibility: str
    active_swipe_id: UUID | None
    swipes: tuple[ExportedSwipe, ...]
    metadata: JsonObject
    created_at: datetime

    @property
    def active(self) -> int:
        return next((place for place, swipe in enumerate(self.swipes) if swipe.id == self.active_swipe_id), 0)


def new_message(message: ChatMessage, ids: Callable[[], UUID]) -> NewMessage:
    """A message of a file, ready to be stored."""
    active = _active(message)
    swipes: list[NewSwipe] = []
    for place, text in enumerate(message.swipes or (message.text,)):
        info = dict(message.swipe_info[place]) if place < len(message.swipe_info) else None
        ours = _take_ours(info)
        # What is shown counts; the file may have another text for the swipe that is shown.
        stored = storable(message.text if place == active else text)
        text_id = ids()
        theirs: dict[str, Json] = {} if info is None else {"info": info}
        if stored != text:
            theirs |= {"text": text, "text_id": str(text_id)}
        said = message.extra if place == active else _extra(info)
        swipes.append(
            NewSwipe(
                text_id=text_id,
                text=stored,
                metadata={**_thoughts(said), **_object(ours.get("metadata")), THEIRS: theirs},
                state_delta=_delta(ours.get("state_delta")),
                pictures=tuple(_pictures(message.extra if place == active else None, info)),
            )
        )
    extra = dict(message.extra)
    ours = _take_ours(extra)
    kept: dict[str, Json] = {
        "fields": _fields(message.with_(extra=extra)),
        "swipes": len(message.swipes),
        "active": active,
    }
    if swipes[active].text != message.text:
        kept |= {"text": message.text, "text_id": str(swipes[active].text_id)}
    if len(message.swipe_info) > len(swipes):
        kept["more_info"] = list(message.swipe_info[len(swipes) :])
    return NewMessage(
        role="system" if message.is_narrator else "user" if message.is_user else "assistant",
        visibility="excluded" if message.is_system else "normal",
        active=active,
        swipes=tuple(swipes),
        metadata={**_object(ours.get("metadata")), THEIRS: kept},
    )


def _extra(info: JsonObject | None) -> JsonObject:
    """What a file says about a swipe beside its text."""
    extra = None if info is None else info.get("extra")
    return extra if isinstance(extra, dict) else {}


def _thoughts(extra: JsonObject) -> dict[str, Json]:
    """The reasoning that came with a swipe, as the metadata of swipes has it."""
    thoughts = extra.get(REASONING)
    stored = storable(thoughts) if isinstance(thoughts, str) else ""
    return {REASONING: stored} if stored else {}


def _with_thoughts(extra: JsonObject, metadata: JsonObject) -> JsonObject:
    """The same with the reasoning that a swipe has now."""
    thoughts = metadata.get(REASONING)
    return extra if not thoughts or _thoughts(extra).get(REASONING) == thoughts else {**extra, REASONING: thoughts}


def _pictures(shown: JsonObject | None, info: JsonObject | None) -> list[tuple[str, str, str]]:
    """The pictures of a swipe. What a file says about the one that is shown, it may say twice, and differently."""
    further = pictures_in(_extra(info))
    if shown is None:
        return further
    seen = pictures_in(shown)
    named = {sha256 for _kind, sha256, _title in seen}
    return [*seen, *(("kept", sha256, "") for _kind, sha256, _title in further if sha256 not in named)]


def delta_of(message: ChatMessage) -> dict[str, Json] | None:
    """What the swipe of a message that is shown has changed in the state, as `new_message` stores it."""
    active = _active(message)
    ours = _take_ours(dict(message.swipe_info[active])) if active < len(message.swipe_info) else {}
    return _delta(ours.get("state_delta"))


def written_message(
    stored: ExportedMessage, blobs: Mapping[str, tuple[str, bytes]], *, is_embedded: bool = True
) -> ChatMessage:
    """A message as it stands in a file; `blobs` are the types and bytes of its pictures. Unless pictures are embedded,
    those that the file only named are named again."""
    kept = stored.metadata.get(THEIRS)
    message = _unwritten(stored) if not isinstance(kept, Mapping) else _as_read(stored, kept)
    own = _own(stored.metadata)
    said = _with_thoughts(message.extra, stored.swipes[stored.active].metadata)
    if own or said is not message.extra:
        message = message.with_(extra={**said, OURS: {"metadata": own}} if own else said)
    message = _with_pictures(message, stored, blobs, is_embedded=is_embedded)
    return message.with_(is_system=stored.visibility == "excluded")


def _with_pictures(
    message: ChatMessage, stored: ExportedMessage, blobs: Mapping[str, tuple[str, bytes]], *, is_embedded: bool
) -> ChatMessage:
    shown = stored.swipes[stored.active]
    is_shown_as_read = has_pictures(message.extra, shown.pictures)
    infos: list[JsonObject] = []
    for info, swipe in zip(message.swipe_info, stored.swipes, strict=False):
        extra = _object(info.get("extra"))
        as_read = has_pictures(extra, swipe.pictures) or (swipe is shown and is_shown_as_read)
        written = written_extra(extra, swipe.pictures, blobs, as_read=as_read, is_embedded=is_embedded)
        infos.append(info if written == extra else {**info, "extra": written})
    seen = written_extra(message.extra, shown.pictures, blobs, as_read=is_shown_as_read, is_embedded=is_embedded)
    return message.with_(extra=seen, swipe_info=(*infos, *message.swipe_info[len(infos) :]))


def named_pictures(stored: ExportedMessage) -> set[str]:
    """The hashes of the pictures that the file of a message only names."""
    fields = _object(_object(stored.metadata.get(THEIRS)).get("fields"))
    found = named_in_files(_object(fields.get("extra")))
    return found.union(*(named_in_files(_extra(_object(_theirs(swipe).get("info")))) for swipe in stored.swipes))


class ForkLinks(Value, frozen=True, kw_only=True):
    """The files of the checkpoint and of the branches that were made from a message, without an ending."""

    checkpoint: str = ""
    branches: tuple[str, ...] = ()


def with_links(message: ChatMessage, links: ForkLinks) -> ChatMessage:
    """A message of a file that names what was made from it; what it names already stays."""
    extra = dict(message.extra)
    if links.checkpoint and extra.get("bookmark_link") != links.checkpoint:
        extra["bookmark_link"] = links.checkpoint
    named = extra.get("branches")
    branches = list(named) if isinstance(named, list | tuple) else []
    new = [name for name in links.branches if name not in branches]
    if new:
        extra["branches"] = [*branches, *new]
    return message.with_(extra=extra)


def _as_read(stored: ExportedMessage, kept: JsonObject) -> ChatMessage:
    """A message that came from a file, with what has happened to it since."""
    theirs = LooseObject(kept, ReportBuilder())
    active = stored.active
    shown = stored.swipes[active]
    message = msgspec.convert({**_FIELDS, **theirs.object("fields"), "text": _text(shown, kept)}, ChatMessage)
    if active != kept.get("active"):
        info = _object(_theirs(shown).get("info"))
        date = info.get("send_date", iso_date(shown.created_at))
        dated = date if isinstance(date, str | int | float) else None
        message = message.with_(swipe_id=active, extra=_object(info.get("extra")), send_date=dated)
    in_file, infos = theirs.integer("swipes"), (*_infos(stored), *map(_object, theirs.items("more_info")))
    if in_file == 0 and len(stored.swipes) == 1 and not _ours(shown):
        return message.with_(swipe_info=infos)
    if in_file == 0:
        message = message.with_(swipe_id=active)
    return message.with_(swipes=tuple(_text(swipe, _theirs(swipe)) for swipe in stored.swipes), swipe_info=infos)


def _unwritten(stored: ExportedMessage) -> ChatMessage:
    """A message that was written here."""
    shown = stored.swipes[stored.active]
    message = ChatMessage(
        name=stored.name,
        is_user=stored.role == "user",
        send_date=iso_date(stored.created_at),
        text=shown.text,
        extra={"type": "narrator"} if stored.role == "system" else {},
        original_avatar=None if stored.role == "user" else stored.avatar,
    )
    if stored.role == "user" and len(stored.swipes) == 1 and not _ours(shown):
        return message
    return message.with_(
        swipes=tuple(swipe.text for swipe in stored.swipes), swipe_id=stored.active, swipe_info=_infos(stored)
    )


def _infos(stored: ExportedMessage) -> tuple[JsonObject, ...]:
    """What the file says about each swipe, as far as it says anything about them."""
    infos = [_info(swipe, is_shown=place == stored.active) for place, swipe in enumerate(stored.swipes)]
    while infos and infos[-1] is None:
        infos.pop()
    return tuple(info or {} for info in infos)


def _info(swipe: ExportedSwipe, *, is_shown: bool) -> dict[str, Json] | None:
    theirs = swipe.metadata.get(THEIRS)
    ours = _ours(swipe)
    if not isinstance(theirs, Mapping):
        return {"send_date": iso_date(swipe.created_at), "extra": _with_thoughts({}, swipe.metadata), **ours}
    info = _object(theirs.get("info"))
    # What belongs to the swipe that is shown stands in the message itself, and need not be said twice.
    extra = _extra(info) if is_shown else _with_thoughts(_extra(info), swipe.metadata)
    if extra and extra != _extra(info):
        info["extra"] = extra
    return {**info, **ours} if info or ours or "info" in theirs else None


def _ours(swipe: ExportedSwipe) -> dict[str, Json]:
    """What SillyTavern has no place for: what the swipe changed in the state, and other metadata."""
    own = _own(swipe.metadata)
    ours: dict[str, Json] = {"metadata": own} if own else {}
    if swipe.state_delta:
        ours["state_delta"] = dict(swipe.state_delta)
    return {OURS: ours} if ours else {}


def _own(metadata: JsonObject) -> dict[str, Json]:
    return {key: value for key, value in metadata.items() if key not in (THEIRS, REASONING)}


def _theirs(swipe: ExportedSwipe) -> JsonObject:
    return _object(swipe.metadata.get(THEIRS))


def _text(swipe: ExportedSwipe, kept: JsonObject) -> str:
    """The text as the file had it, as long as it is still that text."""
    original = kept.get("text")
    return original if isinstance(original, str) and kept.get("text_id") == str(swipe.text_id) else swipe.text


def _active(message: ChatMessage) -> int:
    if message.swipe_id is not None and 0 <= message.swipe_id < len(message.swipes):
        return message.swipe_id
    return message.swipes.index(message.text) if message.text in message.swipes else 0


def _fields(message: ChatMessage) -> dict[str, Json]:
    """The fields that are not as usual, as JSON has them: what is read again is equal to what was stored."""
    fields: dict[str, Any] = {name: getattr(message, name) for name in _FIELDS}
    return {
        name: [*value] if isinstance(value, tuple) else value
        for name, value in fields.items()
        if value != _FIELDS[name]
    }


def _take_ours(holder: dict[str, Json] | None) -> dict[str, Json]:
    """What we wrote into a file, taken out of where it stands."""
    if holder is None or not isinstance(holder.get(OURS), dict):
        return {}
    return _object(holder.pop(OURS))


def _delta(value: Json) -> dict[str, Json] | None:
    """A delta of the state, if it is one: the file may have passed through many hands."""
    if not isinstance(value, dict):
        return None
    put, gone = _object(value.get("set")), value.get("unset")
    unset = [key for key in gone if isinstance(key, str) and key not in put] if isinstance(gone, list) else []
    return {"set": put, "unset": unset} if put or unset else None


def _object(value: Json) -> dict[str, Json]:
    return dict(value) if isinstance(value, Mapping) else {}


CHAT_FILE = "chat_file"
"""Where the settings of a conversation keep what its file said."""

FROM_GROUP = "from_group"
"""Where it says that the file had no header: what a header says stood in the file of the group."""
GROUP_FILE = "group_file"
"""Where the settings of a space keep what the file of its group said."""

VARIABLE = "variables."
INJECTIONS = "script_injects"
"""Where SillyTavern's files have injections, by name."""

# SillyTavern's numbers for places and roles.
_POSITIONS = {"none": -1, "after": 0, "chat": 1, "before": 2}
_ROLES = {"system": 0, "user": 1, "assistant": 2}


def kept_of(chat: ChatFile) -> dict[str, Json]:
    """What a conversation keeps of its file's header and stray lines."""
    kept: dict[str, Json] = {"header": None}
    if chat.header is not None:
        header = msgspec.to_builtins(chat.header)
        header["chat_metadata"] = {
            key: value
            for key, value in chat.header.chat_metadata.items()
            if not (key == OURS and isinstance(value, dict))
        }
        header["unknown"] = dict(chat.header.unknown)
        kept["header"] = header
    if chat.strays:
        kept["strays"] = kept_strays(chat.strays)
    return kept


MAX_STRAY_CHARACTERS = 4 * 1024 * 1024
_LONG = 4096
_ZLIB = "zlib"


def kept_strays(strays: Iterable[StrayLine]) -> list[Json]:
    """Stray lines as a conversation keeps them; long ones, which are mostly one byte many times, are compressed."""
    kept: list[Json] = []
    size = 0
    for stray in strays:
        is_long = len(stray.text) >= _LONG
        text = _packed(stray.text) if is_long else stray.text
        kept.append([stray.before, {_ZLIB: text} if is_long else text])
        size += len(text)
    if size > MAX_STRAY_CHARACTERS:
        raise Refused(
            "too_long",
            _("Too much of the file is damaged: it has lines that are no messages. Remove them and import it again."),
        )
    return kept


def _packed(text: str) -> str:
    return b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"))).decode()


def strays_of(kept: JsonObject) -> tuple[StrayLine, ...]:
    """The lines of a file that were no messages."""
    strays = msgspec.convert(kept.get("strays", []), list[tuple[int, str | dict[str, str]]])
    return tuple(
        StrayLine(before=before, text=text if isinstance(text, str) else _unpacked(text[_ZLIB]))
        for before, text in strays
    )


def _unpacked(text: str) -> str:
    return zlib.decompress(b64decode(text)).decode("utf-8", "surrogatepass")


def variables_of(chat: ChatFile) -> State:
    """The chat variables as part of the state behind the last message."""
    variables = None if chat.header is None else chat.header.chat_metadata.get("variables")
    return {f"{VARIABLE}{name}": value for name, value in variables.items()} if isinstance(variables, dict) else {}


def beginning_of(chat: ChatFile) -> State:
    """The state before the first message: as we wrote it, or else what the variables are."""
    ours = None if chat.header is None else chat.header.chat_metadata.get(OURS)
    beginning = ours.get("beginning") if isinstance(ours, dict) else None
    return dict(beginning) if isinstance(beginning, dict) else variables_of(chat)


def settings_of_file(metadata: JsonObject) -> dict[str, Any]:
    """The author's note of a file, and what it puts in the place of its card's texts, as changes of a conversation's
    settings. A note that nobody could have typed here is left out, and so is such a text."""
    note = {
        "text": metadata.get("note_prompt"),
        "interval": metadata.get("note_interval"),
        "position": _named(_POSITIONS, metadata.get("note_position")),
        "depth": metadata.get("note_depth"),
        "role": _named(_ROLES, metadata.get("note_role")),
    }
    patches: list[tuple[str, dict[str, Json]]] = [("authors_note", note)]
    patches += [("prompt", {name: metadata.get(key) or None}) for name, key in _OVERRIDES.items()]
    found: dict[str, Any] = {}
    for group, values in patches:
        own: dict[str, Json] = {name: value for name, value in values.items() if value is not None}
        if own:
            with suppress(Refused):
                found |= read_patch({group: own}, "conversation")
    return found


_OVERRIDES = {
    "scenario_override": "scenario",
    "examples_override": "mes_example",
    "system_prompt_override": "system_prompt",
}
"""The settings of a conversation that a file has under another name."""


def injections_of_file(metadata: JsonObject) -> dict[str, InjectionIn]:
    """The injections that a file names; one that nobody could have typed here is left out."""
    written = metadata.get(INJECTIONS)
    found: dict[str, InjectionIn] = {}
    for name, fields in written.items() if isinstance(written, Mapping) else ():
        source = LooseObject(_object(fields), ReportBuilder())
        with suppress(ValidationError):
            injection = InjectionIn.model_validate(
                {
                    "content": storable(source.text("value")),
                    "position": _named(_POSITIONS, source.raw("position")),
                    "depth": source.integer("depth"),
                    "role": _named(_ROLES, source.raw("role")) or "system",
                    "scan": source.flag("scan"),
                }
            )
            if len(found) < MAX_INJECTIONS and 0 < len(storable(name)) <= MAX_NAME_CHARACTERS:
                found[storable(name)] = injection
    return found


def _with_injections(metadata: JsonObject, rows: Iterable[ConversationInjection]) -> dict[str, Json]:
    """What a file says, with the injections as they are now; those for one prompt have no place in it."""
    now = {row.name: InjectionIn.model_validate(row, from_attributes=True) for row in rows if not row.ephemeral}
    if now == injections_of_file(metadata):
        return dict(metadata)
    before = _object(metadata.get(INJECTIONS))
    written: dict[str, Json] = {
        name: {
            **_object(before.get(name)),
            "value": one.content,
            "position": _POSITIONS[one.position],
            "depth": one.depth,
            "scan": one.scan,
            "role": _ROLES[one.role],
        }
        for name, one in now.items()
    }
    return {**metadata, INJECTIONS: written}


def written_header(
    kept: JsonObject | None,
    *,
    user_name: str,
    character_name: str,
    beginning: JsonObject,
    state: JsonObject,
    settings: JsonObject,
    injections: Iterable[ConversationInjection] | None,
    persona: str | None = None,
    main_chat: str | None = None,
) -> ChatHeader | None:
    """The header of a file: as it was read, with the variables, the settings and the injections as they are now;
    without `injections`, those that were read. `persona` is the file name of the one that the chat is locked to; empty,
    it is locked to none any more, and None leaves what was read. `main_chat` is the file that a branch was made from.

    A file that had none gets one only if there is something to say.
    """
    theirs = None if kept is None else kept.get("header")
    header = ChatHeader(user_name=user_name, character_name=character_name)
    if isinstance(theirs, Mapping):
        header = msgspec.convert(theirs, ChatHeader)
    metadata = dict(header.chat_metadata)
    variables = {key.removeprefix(VARIABLE): value for key, value in state.items() if key.startswith(VARIABLE)}
    before = metadata.get("variables")
    if variables != (before if isinstance(before, dict) else {}):
        metadata["variables"] = variables
    metadata |= _changed_settings(metadata, kept or {}, settings)
    if main_chat is not None:
        metadata["main_chat"] = main_chat
    _drop_ended(metadata, kept or {}, state)
    if injections is not None:
        metadata = _with_injections(metadata, injections)
    if persona:
        metadata["persona"] = persona
    elif persona is not None:
        metadata.pop("persona", None)
    if beginning != {f"{VARIABLE}{name}": value for name, value in variables.items()}:
        metadata[OURS] = {"beginning": dict(beginning)}
    if kept is not None and theirs is None and not metadata:
        return None
    return header.with_(chat_metadata=metadata)


APPLIED = "settings"
"""Where a conversation keeps the names of the settings that it has from its file."""


def _changed_settings(metadata: JsonObject, kept: JsonObject, settings: JsonObject) -> dict[str, Json]:
    """What a file says otherwise than the settings of its conversation do now."""
    note, prompt = _object(settings.get("authors_note")), _object(settings.get("prompt"))
    now: dict[str, Json] = {
        "authors_note.text": note.get("text"),
        "authors_note.interval": note.get("interval"),
        "authors_note.position": note.get("position"),
        "authors_note.depth": note.get("depth"),
        "authors_note.role": note.get("role"),
        **{f"prompt.{name}": prompt.get(name) for name in _OVERRIDES},
    }
    applied = msgspec.convert(kept.get(APPLIED, []), list[str])
    before = {path: value for path, value in settings_of_file(metadata).items() if path in applied} if applied else {}
    changed: dict[str, Json] = {}
    for path, value in now.items():
        key, numbers = _KEYS[path]
        if value == before.get(path):
            continue
        if value is not None:
            changed[key] = value if numbers is None else numbers.get(str(value))
        elif isinstance(before[path], str) and numbers is None:
            changed[key] = ""
    return {key: value for key, value in changed.items() if value is not None}


_KEYS: Mapping[str, tuple[str, Mapping[str, int] | None]] = {
    "authors_note.text": ("note_prompt", None),
    "authors_note.interval": ("note_interval", None),
    "authors_note.position": ("note_position", _POSITIONS),
    "authors_note.depth": ("note_depth", None),
    "authors_note.role": ("note_role", _ROLES),
    **{f"prompt.{name}": (key, None) for name, key in _OVERRIDES.items()},
}
"""What a file calls each setting, and the numbers that it has for its values."""

TIMERS = "timers"
"""Where a conversation keeps which of the timed effects of its file are part of the story's state, each under its key
there: the kind of effect and the name of the entry."""
_TIMED = "timedWorldInfo"


def timed_effects(metadata: JsonObject) -> Iterator[tuple[str, str, LooseObject]]:
    """The effects of lorebook entries that a file names: `sticky` or `cooldown`, the entry, and what is said of it."""
    timed = _object(metadata.get(_TIMED))
    for kind in ("sticky", "cooldown"):
        for name, effect in _object(timed.get(kind)).items():
            if isinstance(effect, Mapping):
                yield kind, name, LooseObject(effect, ReportBuilder())


def _drop_ended(metadata: dict[str, Json], kept: JsonObject, state: JsonObject) -> None:
    """Take the effects out of a file that were in the story's state and are over."""
    timers = _object(kept.get(TIMERS))
    timed = {kind: _object(effects) for kind, effects in _object(metadata.get(_TIMED)).items()}
    for key, place in timers.items():
        kind, name = msgspec.convert(place, tuple[str, str])
        if key not in state and name in timed.get(kind, {}):
            del timed[kind][name]
            metadata[_TIMED] = {**_object(metadata[_TIMED]), **timed}


def _named(numbers: Mapping[str, int], value: Json) -> str | None:
    return next((name for name, number in numbers.items() if number == value and not isinstance(value, bool)), None)
