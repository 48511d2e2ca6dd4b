"""Anthropic's Messages format: system blocks apart, user and assistant in turns, everything in content blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from tavernkit.dialects.caching import cache_at_depth, cache_control
from tavernkit.dialects.registry import DialectOptions
from tavernkit.dialects.speakers import label
from tavernkit.dialects.wire import (
    Media,
    WireContent,
    WireMessage,
    WirePart,
    call_arguments,
    call_name,
    is_text,
    read_media,
    refuse,
    text_of,
    write_json,
)
from tavernkit.errors import ParseError
from tavernkit.text.js_strings import JS_WHITESPACE
from tavernkit.values import Json, JsonObject, Value

_ZERO_WIDTH_SPACE = "\u200b"


class _Turn(Value, frozen=True, kw_only=True):
    role: str
    blocks: tuple[JsonObject, ...] = ()
    extra: JsonObject = {}


def anthropic(messages: Sequence[WireMessage], options: DialectOptions) -> dict[str, Json]:
    """`system` and `messages` of a request to the Messages API."""
    leading = list(takewhile(lambda message: message.role == "system", messages)) if options.use_system_prompt else []
    system = [_system_block(message, options) for message in leading]
    if system and options.cache_system:
        system[-1] = {**system[-1], "cache_control": cache_control(options.cache_ttl)}

    turns = [_turn(message, index, options) for index, message in enumerate(messages) if index >= len(leading)]
    if options.use_system_prompt and not turns:
        turns = [_Turn(role="user", blocks=(_text(options.placeholder),))]
    turns = _media_to_user(turns)
    if options.prefill:
        turns.append(_Turn(role="assistant", blocks=(_text(options.prefill.rstrip(JS_WHITESPACE)),)))

    written: list[JsonObject] = [
        {"role": turn.role, "content": list(turn.blocks), **turn.extra} for turn in _merged(turns)
    ]
    if options.cache_depth is not None:
        written = cache_at_depth(written, options.cache_depth, options.cache_ttl)
    return {"system": system, "messages": written}


def _system_block(message: WireMessage, options: DialectOptions) -> JsonObject:
    content = options.names.as_example(message.body, message.speaker)
    block: dict[str, Json] = {"type": "text", "text": list(content) if isinstance(content, tuple) else content or ""}
    if "cache_control" in message.extra:
        block["cache_control"] = message.extra["cache_control"]
    return block


def _turn(message: WireMessage, index: int, options: DialectOptions) -> _Turn:
    blocks = _blocks(message, index, options)
    extra = dict(message.extra)
    hint = extra.pop("cache_control", None)
    if hint is not None and blocks:
        blocks = (*blocks[:-1], {**blocks[-1], "cache_control": hint})
    return _Turn(role="assistant" if message.role == "assistant" else "user", blocks=blocks, extra=extra)


def _blocks(message: WireMessage, index: int, options: DialectOptions) -> tuple[JsonObject, ...]:
    match message.role:
        case "assistant" if isinstance(message.tool_calls, tuple):
            return tuple(_call(call, index, options) for call in message.calls)
        case "tool":
            return (_result(message, index, options),)
        case "system":
            return _content(options.names.as_example(message.body, message.speaker), "", index)
        case _:
            return _content(message.body, message.speaker, index)


def _content(content: WireContent, speaker: str, index: int) -> tuple[JsonObject, ...]:
    if content is None:
        raise refuse(index, "it has no content. Give it a text, or leave the message out.")
    before = label(speaker) if speaker else ""
    if isinstance(content, str):
        return (_text(before + content),)
    return tuple(_block(part, before, index) for part in content)


def _block(part: WirePart, before: str, index: int) -> JsonObject:
    if is_text(part):
        # The API refuses an empty text beside other blocks.
        return {**part, "text": before + str(part["text"]) or _ZERO_WIDTH_SPACE}
    kept = {"cache_control": part["cache_control"]} if "cache_control" in part else {}
    if part.get("type") == "image_url":
        return {"type": "image", "source": _source(read_media(part), index), **kept}
    if part.get("type") == "file":
        return {**_document(read_media(part), index), **kept}
    return part


def _source(media: Media | None, index: int) -> JsonObject:
    if media is None:
        raise refuse(index, "a picture has no address.")
    if media.data:
        return {"type": "base64", "media_type": media.mime_type, "data": media.data}
    if not media.is_remote:
        raise refuse(index, "a picture must be a data: address with its bytes, or a web address.")
    return {"type": "url", "url": media.address}


def _document(media: Media | None, index: int) -> dict[str, Json]:
    if media is None:
        raise refuse(index, "a file has no file_data.")
    title = {"title": media.name} if media.name else {}
    if media.mime_type.startswith("text/"):
        text = media.decoded()
        if text is None:
            raise refuse(index, "a text file is not UTF-8. Send it in another form.")
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **title}
    if media.data and media.mime_type != "application/pdf":
        raise refuse(index, f"a file of type {media.mime_type!r} is not taken. Send PDF or plain text.")
    return {"type": "document", "source": _source(media, index), **title}


def _call(call: JsonObject, index: int, options: DialectOptions) -> JsonObject:
    try:
        arguments = call_arguments(call)
    except ParseError as error:
        raise refuse(index, f"{error} Send an object.") from None
    if not options.use_tools:
        return _text(write_json(arguments))
    if not isinstance(arguments, Mapping):
        raise refuse(index, f"the arguments of {call_name(call)!r} must be an object.")
    return {"type": "tool_use", "id": call.get("id"), "name": call_name(call), "input": arguments}


def _result(message: WireMessage, index: int, options: DialectOptions) -> JsonObject:
    if not options.use_tools:
        return _text(text_of(message.body, index))
    content: Json = message.body or ""
    if isinstance(content, tuple):
        content = [_block(part, "", index) for part in content]
    return {"type": "tool_result", "tool_use_id": message.answers, "content": content}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _is_media(block: JsonObject) -> bool:
    return block.get("type") in ("image", "document")


def _media_to_user(turns: Sequence[_Turn]) -> list[_Turn]:
    """Pictures and files of the assistant, which only the user may show, as the user's next ones.

    Behind the user's last turn there is nobody to take them, so a new turn at the very end does. An earlier reply there
    that gave something away is followed by an empty turn of the user, so that it does not merge with the next reply.
    """
    answered = max((place for place, turn in enumerate(turns, start=1) if turn.role == "user"), default=0)
    moved: list[_Turn] = []
    waiting: tuple[JsonObject, ...] = ()
    for turn in turns[:answered]:
        if turn.role == "user":
            moved.append(turn.with_(blocks=turn.blocks + waiting))
            waiting = ()
        else:
            spoken, media = _without_media(turn)
            moved.append(spoken)
            waiting += media
    unanswered = [_without_media(turn) for turn in turns[answered:]]
    if not any(media for _, media in unanswered):
        return [*moved, *turns[answered:]]
    for spoken, media in unanswered[:-1]:
        moved += [spoken, _Turn(role="user")] if media else [spoken]
        waiting += media
    last, media = unanswered[-1]
    return [*moved, last, _Turn(role="user", blocks=media + waiting)]


def _without_media(turn: _Turn) -> tuple[_Turn, tuple[JsonObject, ...]]:
    media = tuple(block for block in turn.blocks if _is_media(block))
    return turn.with_(blocks=tuple(block for block in turn.blocks if not _is_media(block))), media


def _merged(turns: Sequence[_Turn]) -> list[_Turn]:
    merged: list[_Turn] = []
    for turn in turns:
        if merged and merged[-1].role == turn.role:
            merged[-1] = merged[-1].with_(blocks=merged[-1].blocks + turn.blocks)
        else:
            merged.append(turn)
    return merged
