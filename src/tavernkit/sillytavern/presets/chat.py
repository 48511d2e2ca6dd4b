"""Chat-completion presets: the prompts, their order, the format strings and the samplers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.values import Json, JsonObject, check_choice

EVERY_CHARACTER = 100001
"""The `character_id` under which SillyTavern keeps the order that is the same for all characters."""


ChatNames: TypeAlias = Literal[-1, 0, 1, 2]
"""Who says something: never told, in groups alone, as the provider's name of a speaker, or in the text."""


class PresetPrompt(PresetFile, frozen=True, kw_only=True):
    """One prompt of the prompt manager; a marker stands for something that is filled in, such as the history."""

    identifier: str = ""
    name: str = ""
    role: str = "system"
    content: str = ""
    system_prompt: bool = False
    marker: bool = False
    enabled: bool | None = None
    injection_position: Literal[0, 1] = 0
    injection_depth: int = 4
    injection_order: int = 100
    injection_trigger: tuple[str, ...] = ()
    forbid_overrides: bool = False
    extension: bool = False

    @classmethod
    def modernised(cls, source: JsonObject) -> dict[str, Json]:
        """Also leaves out an empty role, which SillyTavern takes for `system`."""
        return {key: value for key, value in super().modernised(source).items() if key != "role" or value != ""}


class PromptToggle(PresetFile, frozen=True, kw_only=True):
    """Whether the prompt of that identifier is sent."""

    identifier: str = ""
    enabled: bool = True


class PromptOrder(PresetFile, frozen=True, kw_only=True):
    """The order of the prompts for one character, or for all of them."""

    character_id: int | str = EVERY_CHARACTER
    order: tuple[PromptToggle, ...] = ()


class ChatPreset(PresetFile, frozen=True, kw_only=True):
    """What SillyTavern calls a chat-completion preset, or OpenAI settings."""

    OLD_NAMES: ClassVar[Mapping[str, str]] = {
        "temp_openai": "temperature",
        "freq_pen_openai": "frequency_penalty",
        "pres_pen_openai": "presence_penalty",
        "top_p_openai": "top_p",
        "top_k_openai": "top_k",
        "top_a_openai": "top_a",
        "min_p_openai": "min_p",
        "repetition_penalty_openai": "repetition_penalty",
        "claude_use_sysprompt": "use_sysprompt",
        "use_makersuite_sysprompt": "use_sysprompt",
        "image_inlining": "media_inlining",
        "video_inlining": "media_inlining",
        "audio_inlining": "media_inlining",
        "names_in_completion": "names_behavior",
        "main_prompt": "prompts",
        "nsfw_prompt": "prompts",
        "jailbreak_prompt": "prompts",
    }

    name: str | None = None

    # Samplers
    temperature: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    top_a: float = 0.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = -1
    n: int = 1
    bias_preset_selected: str = ""

    # Budget
    openai_max_context: int = 4095
    openai_max_tokens: int = 300
    max_context_unlocked: bool = False

    # Prompts
    prompts: tuple[PresetPrompt, ...] = ()
    prompt_order: tuple[PromptOrder, ...] = ()
    new_chat_prompt: str = "[A new chat begins here.]"
    new_group_chat_prompt: str = "[A new chat of several characters begins here: {{group}}.]"
    new_example_chat_prompt: str = "[An example of how the chat may go:]"
    group_nudge_prompt: str = "[Reply as {{char}} and as nobody else.]"
    continue_nudge_prompt: str = "[Go on from where the last message stops, without saying again what it says.]"
    impersonation_prompt: str = "[Write the next message as {{user}} would, in the manner of the chat so far.]"
    send_if_empty: str = ""
    wi_format: str = "{0}"
    scenario_format: str = "{{scenario}}"
    personality_format: str = "{{personality}}"

    # How messages are put together
    names_behavior: ChatNames = 0
    wrap_in_quotes: bool = False
    squash_system_messages: bool = False
    use_sysprompt: bool = False
    assistant_prefill: str = ""
    assistant_impersonation: str = ""
    continue_prefill: bool = False
    continue_postfix: str = " "
    custom_prompt_post_processing: str = ""

    # What is asked of the model
    stream_openai: bool = False
    function_calling: bool = False
    tool_call_recurse_limit: int = 5
    tool_reasoning_mode: str = ""
    show_thoughts: bool = True
    reasoning_effort: str = "auto"
    verbosity: str = "auto"
    enable_web_search: bool = False
    media_inlining: bool = True
    inline_image_quality: str = "auto"
    request_images: bool = False
    request_image_aspect_ratio: str = ""
    request_image_resolution: str = ""

    # Connection
    chat_completion_source: str = "openai"
    openai_model: str = ""
    claude_model: str = ""
    google_model: str = ""
    vertexai_model: str = ""
    vertexai_auth_mode: str = ""
    vertexai_region: str = ""
    vertexai_express_project_id: str = ""
    openrouter_model: str = ""
    openrouter_use_fallback: bool = False
    openrouter_group_models: bool = False
    openrouter_sort_models: str = ""
    openrouter_providers: tuple[str, ...] = ()
    openrouter_quantizations: tuple[str, ...] = ()
    openrouter_allow_fallbacks: bool = True
    openrouter_middleout: str = "on"
    ai21_model: str = ""
    mistralai_model: str = ""
    cohere_model: str = ""
    perplexity_model: str = ""
    groq_model: str = ""
    chutes_model: str = ""
    chutes_sort_models: str = ""
    siliconflow_model: str = ""
    siliconflow_endpoint: str = ""
    minimax_model: str = ""
    minimax_endpoint: str = ""
    electronhub_model: str = ""
    electronhub_group_models: bool = False
    electronhub_sort_models: str = ""
    nanogpt_model: str = ""
    nanogpt_provider: str = ""
    nanogpt_payg_override: bool = False
    deepseek_model: str = ""
    aimlapi_model: str = ""
    xai_model: str = ""
    pollinations_model: str = ""
    pollinations_endpoint: str = ""
    moonshot_model: str = ""
    fireworks_model: str = ""
    cometapi_model: str = ""
    zai_model: str = ""
    zai_endpoint: str = ""
    workers_ai_model: str = ""
    workers_ai_account_id: str = ""
    azure_base_url: str = ""
    azure_deployment_name: str = ""
    azure_api_version: str = ""
    azure_openai_model: str = ""
    custom_model: str = ""
    custom_url: str = ""
    custom_include_body: str = ""
    custom_exclude_body: str = ""
    custom_include_headers: str = ""
    group_models: bool = False
    sort_models: str = ""
    reverse_proxy: str = ""
    proxy_password: str = ""
    show_external_models: bool = False
    bypass_status_check: bool = False

    extensions: JsonObject = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("names_behavior", self.names_behavior, ChatNames)

    @property
    def context_window_tokens(self) -> int:
        return self.openai_max_context

    @property
    def reserved_response_tokens(self) -> int:
        return self.openai_max_tokens

    @property
    def max_prompt_tokens(self) -> int:
        return max(0, self.openai_max_context - self.openai_max_tokens)

    @classmethod
    def modernised(cls, source: JsonObject) -> dict[str, Json]:
        """Also turns switches into the field that replaced them, and the three old prompts into a list of prompts."""
        fields = {
            key: value
            for key, value in super().modernised(source).items()
            if key in source or key not in ("names_behavior", "media_inlining", "prompts")
        }
        if "names_behavior" not in fields and "names_in_completion" in source:
            fields["names_behavior"] = 1 if source["names_in_completion"] is True else 0
        switches = [source[key] for key in ("image_inlining", "video_inlining", "audio_inlining") if key in source]
        if "media_inlining" not in fields and switches:
            fields["media_inlining"] = any(switch is True for switch in switches)
        old_prompts = [
            {"identifier": identifier, "content": source[key], "system_prompt": True}
            for identifier, key in (("main", "main_prompt"), ("nsfw", "nsfw_prompt"), ("jailbreak", "jailbreak_prompt"))
            if key in source
        ]
        if "prompts" not in fields and old_prompts:
            fields["prompts"] = old_prompts
        if _is_flat(fields.get("prompt_order")):
            fields["prompt_order"] = [{"character_id": EVERY_CHARACTER, "order": fields["prompt_order"]}]
        return fields


def _is_flat(order: Json) -> bool:
    """An older `prompt_order` is one list of toggles, without a character."""
    return isinstance(order, list) and any(
        isinstance(item, Mapping) and "identifier" in item and "order" not in item for item in order
    )
