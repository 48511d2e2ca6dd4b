"""Which fields of a chat preset a build reads, which are the application's business, and which nobody heeds."""

from __future__ import annotations

from collections.abc import Iterator

from tavernkit.prompt.context import Context
from tavernkit.sillytavern.presets import ChatPreset

CONNECTION = frozenset(
    {
        "name",
        "max_context_unlocked",
        "tool_call_recurse_limit",
        "vertexai_auth_mode",
        "vertexai_region",
        "vertexai_express_project_id",
        "openrouter_group_models",
        "openrouter_sort_models",
        "chutes_sort_models",
        "siliconflow_endpoint",
        "minimax_endpoint",
        "electronhub_group_models",
        "electronhub_sort_models",
        "nanogpt_provider",
        "nanogpt_payg_override",
        "pollinations_endpoint",
        "zai_endpoint",
        "workers_ai_account_id",
        "azure_base_url",
        "azure_deployment_name",
        "azure_api_version",
        "custom_url",
        "custom_include_headers",
        "group_models",
        "sort_models",
        "reverse_proxy",
        "proxy_password",
        "show_external_models",
        "bypass_status_check",
        "extensions",
    }
)
"""Where the request goes and how lists of models look: for whoever sends it, and nothing to the prompt."""

UNSUPPORTED = frozenset(
    {
        "openrouter_use_fallback",
        "openrouter_providers",
        "openrouter_quantizations",
        "openrouter_allow_fallbacks",
        "openrouter_middleout",
        "custom_include_body",
        "custom_exclude_body",
    }
)
"""Changes to the request that SillyTavern would make and this builder does not; a build warns of those in use."""

_ONLY_FOR = {"openrouter": "openrouter_", "custom": "custom_"}


def warn_of_unsupported(ctx: Context, preset: ChatPreset) -> None:
    """Say which settings of the preset have no effect here."""
    unheeded = sorted(_in_use(preset))
    if unheeded:
        ctx.warn(
            "preset_field_unsupported",
            f"The preset asks for things that are not sent: {', '.join(unheeded)}. Set them where the request is made.",
            fields=unheeded,
        )


def _in_use(preset: ChatPreset) -> Iterator[str]:
    usual = ChatPreset()
    prefix = _ONLY_FOR.get(preset.chat_completion_source)
    for name in UNSUPPORTED:
        if prefix is not None and name.startswith(prefix) and getattr(preset, name) != getattr(usual, name):
            yield name
