"""What RisuAI keeps in its settings and presets, as far as a prompt depends on it."""

from __future__ import annotations

from tavernkit.reading import LooseObject
from tavernkit.risuai.regex_script import RisuRegexScript, read_scripts
from tavernkit.values import JsonObject, Value

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


class PromptCard(Value, frozen=True, kw_only=True):
    """One card of a prompt template; which fields count depends on its `type`."""

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
    written: JsonObject = {}


class TemplateSettings(Value, frozen=True, kw_only=True):
    """Switches that belong to prompt templates."""

    assistant_prefill: str = ""
    post_end_inner_format: str = ""
    send_chat_as_system: bool = False
    send_name: bool = False
    """Every message names its speaker, in the form of `RisuSettings.named_message`."""
    utility_override: bool = False
    custom_chain_of_thought: bool = False
    """The template has its own card for thinking first, and RisuAI adds no instruction to do so."""


class RisuSettings(Value, frozen=True, kw_only=True):
    """The settings, with RisuAI's defaults. It is the preset of a RisuAI build.

    `template` None means the older way: `order` says in which order the parts stand.
    """

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
    written: JsonObject = {}

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
    usual = RisuSettings()
    cards = tuple(_read_card(card) for card in source.objects("promptTemplate"))
    return RisuSettings(
        model=source.text("aiModel", default=usual.model),
        sub_model=source.text("subModel"),
        main_prompt=source.text("mainPrompt"),
        jailbreak=source.text("jailbreak"),
        jailbreak_on=source.flag("jailbreakToggle"),
        global_note=source.text("globalNote"),
        additional_prompt=source.text("additionalPrompt"),
        description_prefix=source.text("descriptionPrefix"),
        preprocesses_prompt=source.flag("promptPreprocess"),
        chain_of_thought=source.flag("chainOfThought"),
        max_context=source.integer("maxContext", default=usual.max_context),
        max_response=source.integer("maxResponse", default=usual.max_response),
        order=source.texts("formatingOrder") if _has_list(source, "formatingOrder") else usual.order,
        template=cards if _has_list(source, "promptTemplate") else None,
        prompt=_read_prompt_settings(source.nested("promptSettings")),
        named_message=source.text("groupTemplate"),
        named_message_role=source.text("groupOtherBotRole", default=usual.named_message_role),
        automatic_cache_point=source.flag("automaticCachePoint"),
        template_default_variables=source.text("templateDefaultVariables"),
        lore_depth=source.integer("loreBookDepth", default=usual.lore_depth),
        lore_tokens=source.integer("loreBookToken", default=usual.lore_tokens),
        scripts=read_scripts(source.objects("presetRegex", "regex")),
        memory_model=source.text("supaModelType"),
        memory_without_punctuation=source.flag("removePunctuationHypa", default=True),
        language=source.text("language", default=usual.language),
        written=dict(source.source),
    )


def _has_list(source: LooseObject, key: str) -> bool:
    return isinstance(source.source.get(key), list)


def _read_card(source: LooseObject) -> PromptCard:
    end = source.raw("rangeEnd")
    return PromptCard(
        type=source.text("type"),
        name=source.text("name"),
        text=source.text("text"),
        kind=source.text("type2", default="normal"),
        role=source.text("role", default="system"),
        inner_format=source.optional_text("innerFormat"),
        default_text=source.text("defaultText"),
        range_start=source.integer("rangeStart"),
        range_end=None if end in (None, "end") else source.optional_integer("rangeEnd"),
        chat_as_original_on_system=source.flag("chatAsOriginalOnSystem"),
        depth=source.integer("depth"),
        written=dict(source.source),
    )


def _read_prompt_settings(source: LooseObject) -> TemplateSettings:
    return TemplateSettings(
        assistant_prefill=source.text("assistantPrefill"),
        post_end_inner_format=source.text("postEndInnerFormat"),
        send_chat_as_system=source.flag("sendChatAsSystem"),
        send_name=source.flag("sendName"),
        utility_override=source.flag("utilOverride"),
        custom_chain_of_thought=source.flag("customChainOfThought"),
    )
