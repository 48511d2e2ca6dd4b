"""Instruct templates: what stands before and after each message of a text prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.values import Json, JsonObject


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
    names_behavior: Literal["none", "force", "always"] = "force"
    wrap: bool = True
    macro: bool = True
    skip_examples: bool = False
    system_same_as_user: bool = False
    sequences_as_stop_strings: bool = True
    bind_to_context: bool | None = None
    system_prompt: str | None = None

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
