"""Writing messages in the format of a provider.

`convert(messages, "anthropic", names=…)` is the door; a dialect is a function in a registry, and `register` adds one.
"""

from tavernkit.dialects.caching import cache_at_depth, cache_control, cache_system_prompt
from tavernkit.dialects.conversion import convert, note_mappings, register_builtin
from tavernkit.dialects.merging import Merging, merge_messages, post_process
from tavernkit.dialects.notes import NOTE_LABEL, NoteMapping
from tavernkit.dialects.openai import mark_assistant_prefix
from tavernkit.dialects.registry import (
    DEFAULT_PLACEHOLDER,
    Accepts,
    Dialect,
    DialectOptions,
    Dialects,
    PostProcessing,
    get,
    names,
    register,
)
from tavernkit.dialects.speakers import SpeakerNames
from tavernkit.dialects.wire import WireMessage

__all__ = [
    "DEFAULT_PLACEHOLDER",
    "NOTE_LABEL",
    "Accepts",
    "Dialect",
    "DialectOptions",
    "Dialects",
    "Merging",
    "NoteMapping",
    "PostProcessing",
    "SpeakerNames",
    "WireMessage",
    "cache_at_depth",
    "cache_control",
    "cache_system_prompt",
    "convert",
    "get",
    "mark_assistant_prefix",
    "merge_messages",
    "names",
    "note_mappings",
    "post_process",
    "register",
]

register_builtin()
