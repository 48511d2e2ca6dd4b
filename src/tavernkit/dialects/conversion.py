"""The door: messages in, a provider's format out, and the dialects that come with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tavernkit.dialects import registry
from tavernkit.dialects.ai21 import ai21
from tavernkit.dialects.anthropic import anthropic
from tavernkit.dialects.cohere import cohere
from tavernkit.dialects.google import google
from tavernkit.dialects.merging import MODES, Merging, merge
from tavernkit.dialects.mistral import mistral
from tavernkit.dialects.notes import NoteMapping, map_notes
from tavernkit.dialects.openai import openai
from tavernkit.dialects.registry import Accepts, DialectOptions, register
from tavernkit.dialects.speakers import SpeakerNames
from tavernkit.dialects.text import text
from tavernkit.dialects.wire import MessageSource, read_messages, refuse
from tavernkit.dialects.xai import xai
from tavernkit.prompt.message import Message
from tavernkit.values import Json


def convert(messages: Sequence[MessageSource], dialect: str = "openai", **options: Any) -> Json:
    """Write messages in a provider's format.

    Takes `Message` values and OpenAI-shaped mappings, mixed, and changes neither. Options are the fields of
    `DialectOptions`, and those that dialects were registered with; a dialect reads its own. Raises
    UnknownDialectError, DialectError for messages that the format cannot express, TypeError for an option that no
    dialect has.
    """
    write = registry.get(dialect)
    chosen = _options(dialect, options)
    merging = MODES[chosen.post_processing]
    read, _ = map_notes(
        read_messages(_accepted(messages, dialect)), system_anywhere=_takes_system_anywhere(dialect, merging)
    )
    return write(merge(read, merging, chosen.names, chosen.placeholder) if merging else read, chosen)


def note_mappings(
    messages: Sequence[MessageSource], dialect: str = "openai", **options: Any
) -> tuple[NoteMapping, ...]:
    """What `convert` makes of each developer note, for whoever explains a prompt."""
    merging = MODES[_options(dialect, options).post_processing]
    return map_notes(read_messages(messages), system_anywhere=_takes_system_anywhere(dialect, merging))[1]


def _takes_system_anywhere(dialect: str, merging: Merging | None) -> bool:
    return registry.registered(dialect).system_anywhere and not (merging is not None and merging.strict)


def _options(dialect: str, given: dict[str, Any]) -> DialectOptions:
    special = registry.special_options()
    known = (*(name for name in DialectOptions.__struct_fields__ if name != "own"), *sorted(special))
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(f"No dialect has an option {unknown[0]!r}. Known: {', '.join(known)}.")
    mine = registry.registered(dialect).options
    own = {name: value for name, value in given.items() if name in mine}
    given = {name: value for name, value in given.items() if name not in special}
    names = given.get("names")
    if isinstance(names, Mapping):
        given["names"] = msgspec.convert(names, SpeakerNames)
    options = DialectOptions(**given, own=own)
    if options.post_processing not in MODES:
        raise ValueError(f"No post-processing mode {options.post_processing!r}. Known: {', '.join(MODES)}.")
    return options


def _accepted(messages: Sequence[MessageSource], dialect: str) -> Sequence[MessageSource]:
    accepts = registry.registered(dialect).accepts
    for index, message in enumerate(messages):
        for attachment in message.attachments if isinstance(message, Message) else ():
            kinds = accepts.url if attachment.data is None else accepts.data
            if attachment.kind not in kinds:
                form = "by address" if attachment.data is None else "as bytes"
                raise refuse(index, f"the {dialect} format takes no attachment of kind {attachment.kind!r} {form}.")
    return messages


_PICTURES = frozenset({"image"})


def register_builtin() -> None:
    register(
        "openai",
        openai,
        accepts=Accepts(data=frozenset({"image", "audio", "video", "file"}), url=frozenset({"image", "video"})),
    )
    register(
        "anthropic",
        anthropic,
        accepts=Accepts(data=frozenset({"image", "file"}), url=frozenset({"image", "file"})),
        system_anywhere=False,
    )
    register(
        "google",
        google,
        accepts=Accepts(data=frozenset({"image", "audio", "video", "file"})),
        system_anywhere=False,
    )
    register("cohere", cohere, accepts=Accepts(data=_PICTURES, url=_PICTURES))
    register("ai21", ai21, accepts=Accepts(), system_anywhere=False)
    register(
        "mistral",
        mistral,
        accepts=Accepts(data=frozenset({"image", "audio", "file"}), url=frozenset({"image", "file"})),
        system_anywhere=False,
    )
    register("xai", xai, accepts=Accepts(data=_PICTURES, url=_PICTURES))
    register("text", text, accepts=Accepts())
