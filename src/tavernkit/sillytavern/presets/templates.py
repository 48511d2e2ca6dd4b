"""Templates of text completion, and master exports, which hold several of them in one file."""

from __future__ import annotations

from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.sillytavern.presets.instruct import Instruct
from tavernkit.sillytavern.presets.text import TextPreset


class SystemPrompt(PresetFile, frozen=True, kw_only=True):
    """A system prompt and the instructions that follow the history."""

    name: str = ""
    enabled: bool | None = None
    content: str = ""
    post_history: str = ""


class ReasoningTemplate(PresetFile, frozen=True, kw_only=True):
    """What stands before and after the thoughts, and between them and the reply."""

    name: str = ""
    prefix: str = ""
    suffix: str = ""
    separator: str = ""


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


class StartReplyWith(PresetFile, frozen=True, kw_only=True):
    """The words a reply begins with, and whether the reader sees them."""

    value: str = ""
    show: bool = False


class MasterExport(PresetFile, frozen=True, kw_only=True):
    """A master export. Each part may be missing; one that is no object is noted, and is written back all the same."""

    instruct: Instruct | None = None
    context: ContextTemplate | None = None
    sysprompt: SystemPrompt | None = None
    preset: TextPreset | None = None
    reasoning: ReasoningTemplate | None = None
    srw: StartReplyWith | None = None
