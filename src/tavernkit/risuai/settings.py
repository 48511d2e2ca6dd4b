"""What RisuAI keeps in its settings and presets, as far as a prompt depends on it."""

from __future__ import annotations

from typing import Any, Self

from tavernkit.reading import LooseObject
from tavernkit.risuai.regex_script import RisuRegexScript, read_scripts
from tavernkit.risuai.stored import StoredFields, StoredNoun
from tavernkit.values import Json

DEFAULT_ORDER = (
    "main",
    "description",
    "personaPrompt",
    "chats",
    "lastChat",
    "jailbreak",
    "lorebook",
    "globalNote",
    "authorNote",
)


DIALECTS = {"claude": "anthropic", "gemini": "google", "cohere": "cohere", "mistral": "mistral"}
"""The dialects of models by how RisuAI's names for them begin; all others speak OpenAI's."""


class PromptCard(StoredNoun, frozen=True, kw_only=True):
    """One card of a prompt template; which fields count depends on its `type`."""

    SPELT = {"kind": "type2"}
    ALWAYS = ("type",)

    type: str
    name: str = ""
    text: str = ""
    kind: str = "normal"
    """What a plain card stands for: `normal`, `main` or `globalNote` (RisuAI: `type2`)."""
    role: str = "system"
    inner_format: str | None = None
    default_text: str = ""
    range_start: int = 0
    range_end: int | None = None
    """Where a chat card ends; None is the end of the chat."""
    chat_as_original_on_system: bool = False
    depth: int = 0

    @classmethod
    def read(cls, source: LooseObject, **given: Any) -> Self:
        is_open = source.raw("rangeEnd") in (None, "end")
        return super().read(source, range_end=None if is_open else source.optional_integer("rangeEnd"), **given)

    def write(self, **spelt: str) -> dict[str, Json]:
        fields = super().write(**spelt)
        if self.type == "chat":
            fields.setdefault("rangeEnd", "end")
        return fields


class TemplateSettings(StoredFields, frozen=True, kw_only=True):
    """Switches that belong to prompt templates."""

    SPELT = {"utility_override": "utilOverride"}

    assistant_prefill: str = ""
    post_end_inner_format: str = ""
    send_chat_as_system: bool = False
    send_name: bool = False
    """Every message names its speaker, in the form of `RisuSettings.named_message`."""
    utility_override: bool = False
    custom_chain_of_thought: bool = False
    """The template has its own card for thinking first, and RisuAI adds no instruction to do so."""


class RisuSettings(StoredNoun, frozen=True, kw_only=True):
    """The settings, with RisuAI's defaults. It is the preset of a RisuAI build.

    `template` None means the older way: `order` says in which order the parts stand.
    """

    SPELT = {
        "model": "aiModel",
        "jailbreak_on": "jailbreakToggle",
        "preprocesses_prompt": "promptPreprocess",
        "order": "formatingOrder",
        "template": "promptTemplate",
        "prompt": "promptSettings",
        "named_message": "groupTemplate",
        "named_message_role": "groupOtherBotRole",
        "lore_depth": "loreBookDepth",
        "lore_tokens": "loreBookToken",
        "lore_is_recursive": None,
        "lore_full_words": None,
        "scripts": "regex",
        "memory_model": "supaModelType",
        "memory_without_punctuation": "removePunctuationHypa",
    }

    model: str = "gpt4o"
    sub_model: str = ""
    main_prompt: str = ""
    jailbreak: str = ""
    jailbreak_on: bool = False
    global_note: str = ""
    additional_prompt: str = ""
    description_prefix: str = ""
    preprocesses_prompt: bool = False
    chain_of_thought: bool = False
    max_context: int = 4000
    max_response: int = 300
    order: tuple[str, ...] = DEFAULT_ORDER
    template: tuple[PromptCard, ...] | None = None
    prompt: TemplateSettings = TemplateSettings()
    named_message: str = ""
    """How a message is written that names its speaker (RisuAI: `groupTemplate`); empty for RisuAI's own way."""
    named_message_role: str = "user"
    automatic_cache_point: bool = False
    template_default_variables: str = ""
    lore_depth: int = 5
    lore_tokens: int = 800
    lore_is_recursive: bool = True
    lore_full_words: bool = False
    scripts: tuple[RisuRegexScript, ...] = ()
    memory_model: str = ""
    """How chats are summed up (RisuAI: `supaModelType`); empty or `none` switches memory off."""
    memory_without_punctuation: bool = True
    language: str = "en"

    @classmethod
    def read(cls, source: LooseObject, **given: Any) -> Self:
        cards = tuple(map(PromptCard.read, source.objects("promptTemplate")))
        source.items("formatingOrder")  # what is no list is noted
        return super().read(
            source,
            order=source.texts("formatingOrder") if _has_list(source, "formatingOrder") else DEFAULT_ORDER,
            template=cards if _has_list(source, "promptTemplate") else None,
            scripts=read_scripts(source.objects("presetRegex", "regex")),
            **given,
        )

    def write(self, **spelt: str) -> dict[str, Json]:
        if "presetRegex" in self.written:  # the name outside presets
            spelt["scripts"] = "presetRegex"
        return super().write(**spelt)

    @property
    def dialect(self) -> str:
        """The format of the model's provider."""
        return next((name for family, name in DIALECTS.items() if self.model.startswith(family)), "openai")

    @property
    def context_window_tokens(self) -> int:
        return self.max_context

    @property
    def reserved_response_tokens(self) -> int:
        return self.max_response

    @property
    def max_prompt_tokens(self) -> int:
        return max(0, self.max_context - self.max_response)


def read_settings(source: LooseObject) -> RisuSettings:
    """Read settings or a preset as RisuAI stores them; the two share their names, save that of the scripts."""
    return RisuSettings.read(source)


def write_settings(settings: RisuSettings) -> dict[str, Json]:
    """The settings as RisuAI stores them in a preset."""
    return settings.write()


def _has_list(source: LooseObject, key: str) -> bool:
    return isinstance(source.source.get(key), list)
