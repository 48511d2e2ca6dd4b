"""Context templates: how the story string, the examples and the chat of a text prompt are put together."""

from __future__ import annotations

from tavernkit.sillytavern.presets.fields import PresetFile


class ContextTemplate(PresetFile, frozen=True, kw_only=True):
    """A context template. Position 0 puts the story string on top, 1 into the chat at its depth and role."""

    name: str = ""
    preset: str | None = None
    story_string: str = ""
    example_separator: str = ""
    chat_start: str = ""
    use_stop_strings: bool = True
    names_as_stop_strings: bool = True
    story_string_position: int = 0
    story_string_depth: int = 1
    story_string_role: int = 0
    always_force_name2: bool = True
    trim_sentences: bool = False
    single_line: bool = False
    allow_jailbreak: bool | None = None
    include_newline: bool | None = None
