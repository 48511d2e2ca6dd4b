"""Templates of text completion, and master exports, which hold several of them in one file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal, TypeAlias

from tavernkit.prompt.tracing import NAME, beside, substituted
from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.sillytavern.presets.text import TextPreset
from tavernkit.values import Json, JsonObject, check_choice

_NAME = re.compile(r"\{\{name\}\}", re.IGNORECASE | re.ASCII)


def fill_name(sequence: str, name: str) -> str:
    """Put a speaker in the place of `{{name}}`."""
    return substituted(_NAME, lambda _: beside(name, sequence, NAME), sequence)


InstructNames: TypeAlias = Literal["none", "force", "always"]


class Instruct(PresetFile, frozen=True, kw_only=True):
    """An instruct template. `system_prompt` is where older files keep the system prompt itself."""

    OLD_NAMES: ClassVar[Mapping[str, str]] = {
        "separator_sequence": "output_suffix",
        "names": "names_behavior",
        "names_force_groups": "names_behavior",
    }

    name: str = ""
    enabled: bool | None = None
    preset: str | None = None
    input_sequence: str = ""
    input_suffix: str = ""
    output_sequence: str = ""
    output_suffix: str = ""
    system_sequence: str = ""
    system_suffix: str = ""
    first_input_sequence: str = ""
    last_input_sequence: str = ""
    first_output_sequence: str = ""
    last_output_sequence: str = ""
    last_system_sequence: str = ""
    story_string_prefix: str = ""
    story_string_suffix: str = ""
    stop_sequence: str = ""
    user_alignment_message: str = ""
    activation_regex: str = ""
    names_behavior: InstructNames = "force"
    wrap: bool = True
    macro: bool = True
    skip_examples: bool = False
    system_same_as_user: bool = False
    sequences_as_stop_strings: bool = True
    bind_to_context: bool | None = None
    system_prompt: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("names_behavior", self.names_behavior, InstructNames)

    @property
    def line_break(self) -> str:
        """What stands between a sequence and the message beside it."""
        return "\n" if self.wrap else ""

    def fill(self, sequence: str, name: str, expand: Callable[[str], str]) -> str:
        """A sequence with its macros expanded and `{{name}}` filled in, if the template wants that."""
        return fill_name(expand(sequence), name) if sequence and self.macro else sequence

    @classmethod
    def modernised(cls, source: JsonObject) -> dict[str, Json]:
        """Where old and new fields stand side by side, the old ones win, as in SillyTavern."""
        fields = {key: value for key, value in source.items() if key not in cls.OLD_NAMES}
        if "separator_sequence" in source:
            fields["output_suffix"] = source["separator_sequence"] or ""
        if "names" in source:
            without_names = "force" if source.get("names_force_groups") else "none"
            fields["names_behavior"] = "always" if source["names"] else without_names
        return fields


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
