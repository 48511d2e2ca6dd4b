"""What a user of SillyTavern has set for all chats, as far as it changes the prompt or what becomes of the reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tavernkit.errors import PresetParseError
from tavernkit.reading import Imported, LooseObject, ReportBuilder, Source, kind_of, open_json
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.sillytavern.presets import ContextTemplate, Instruct, ReasoningTemplate, SystemPrompt
from tavernkit.sillytavern.presets.fields import PresetFile, decode

_STORY = (
    *("anchorBefore", "system", "wiBefore", "description", "personality"),
    *("scenario", "wiAfter", "persona", "anchorAfter"),
)
USUAL_CONTEXT = ContextTemplate(
    story_string="".join(f"{{{{#if {name}}}}}{{{{{name}}}}}\n{{{{/if}}}}" for name in _STORY),
    example_separator="***",
    chat_start="***",
    use_stop_strings=False,
)
"""What a text completion without a context template gets: everything that there is, a line each."""


class ReasoningSettings(ReasoningTemplate, frozen=True, kw_only=True):
    """The reasoning template in use, and what is done with thoughts: found in replies, sent back with the chat."""

    auto_parse: bool = False
    add_to_prompts: bool = False
    max_additions: int = 1


class UserSettings(PresetFile, frozen=True, kw_only=True):
    """SillyTavern's `power_user` settings; those that concern only its own page are not read."""

    OLD_NAMES: ClassVar[Mapping[str, str]] = {"trim_incomplete_sentences": "trim_sentences"}

    instruct: Instruct = Instruct(enabled=False)
    context: ContextTemplate = USUAL_CONTEXT
    sysprompt: SystemPrompt = SystemPrompt(enabled=True)
    reasoning: ReasoningSettings = ReasoningSettings()

    # The prompt
    pin_examples: bool = False
    strip_examples: bool = False
    prefer_character_prompt: bool = True
    prefer_character_jailbreak: bool = True
    always_force_name2: bool = True
    user_prompt_bias: str = ""
    token_padding: int = 64
    collapse_newlines: bool = False

    # Where a reply ends
    custom_stopping_strings: str = ""
    custom_stopping_strings_macro: bool = True
    single_line: bool = False

    # What is done to a reply
    trim_spaces: bool = True
    trim_sentences: bool = False
    auto_fix_generated_markdown: bool = False
    allow_name1_display: bool = False
    allow_name2_display: bool = False
    disable_group_trimming: bool = False


def read_user_settings(source: Source, *, strict: bool = False) -> Imported[UserSettings]:
    """Read the `power_user` object of SillyTavern's settings file, of which any part may be missing."""
    document, file = open_json(source, what="The settings", error=PresetParseError)
    if not isinstance(document, Mapping):
        raise PresetParseError(f"The settings of a user are one JSON object; this is {kind_of(document)}.")
    report = ReportBuilder()
    settings = decode(UserSettings, document, report)
    return Imported(settings, report.build("settings", file=file, error=PresetParseError, strict=strict))


def macro_engine(settings: LooseObject) -> EngineName | None:
    """The engine that a whole settings file asks for: the legacy one, or that of the version that wrote the file."""
    power_user = settings.nested("power_user")
    if not power_user.has("experimental_macro_engine"):
        return None
    if not power_user.flag("experimental_macro_engine"):
        return "legacy"
    return "1.15" if settings.text("currentVersion").startswith("1.15") else "1.19"
