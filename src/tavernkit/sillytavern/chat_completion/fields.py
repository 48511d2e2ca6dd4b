"""The fields of a chat preset that SillyTavern heeds and a build does not."""

from __future__ import annotations

from collections.abc import Iterator

from tavernkit.prompt.context import Context
from tavernkit.sillytavern.presets import ChatPreset

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
