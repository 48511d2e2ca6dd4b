"""What a text preset asks of the request beside its prompt."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.prompt.context import Context
from tavernkit.sillytavern.presets import TextPreset
from tavernkit.values import Json

_NAMES: Mapping[str, str] = {
    "rep_pen": "repetition_penalty",
    "rep_pen_range": "repetition_penalty_range",
    "freq_pen": "frequency_penalty",
    "presence_pen": "presence_penalty",
    "encoder_rep_pen": "encoder_repetition_penalty",
    "min_temp": "dynatemp_low",
    "max_temp": "dynatemp_high",
    "dynatemp": "dynamic_temperature",
}
"""Samplers that a request calls otherwise than a preset does."""

_NOT_SENT = frozenset(
    {
        "name",
        "genamt",
        "max_length",
        "temp",
        "top_p",
        "seed",
        "streaming",
        "truncation_length",
        "send_banned_tokens",
        "banned_tokens",
        "global_banned_tokens",
        "bypass_status_check",
        "custom_model",
        "generic_model",
        "json_schema_allow_empty",
        "extensions",
    }
)
"""Fields that are sent in another form, or that say something about the connection."""


_USUAL = TextPreset()


def request_options(ctx: Context, preset: TextPreset, stop: tuple[str, ...]) -> dict[str, Json]:
    """The samplers that differ from what they usually are, under the names of text-completion servers."""
    # A preset that says nothing of the reply leaves its length to the server; nobody wants a reply of no tokens.
    options: dict[str, Json] = {
        **({} if preset.genamt is None else {"max_tokens": preset.genamt}),
        "truncation_length": preset.context_window_tokens,
        "temperature": preset.temp,
        "top_p": preset.top_p,
        "stream": preset.streaming and ctx.generation_type != "quiet",
    }
    model = ctx.model or preset.custom_model or preset.generic_model
    if model:
        options["model"] = model
    if preset.seed >= 0:
        options["seed"] = preset.seed
    banned = _lines(preset.banned_tokens) + _lines(preset.global_banned_tokens) if preset.send_banned_tokens else []
    if banned:
        options["banned_strings"] = banned
    for name in sampler_fields():
        value = getattr(preset, name)
        if value != getattr(_USUAL, name):
            options[_NAMES.get(name, name)] = list(value) if isinstance(value, tuple) else value
    if stop:
        options["stop"] = list(stop)
    return options


def sampler_fields() -> tuple[str, ...]:
    """The fields of a preset that are sent as they are."""
    own = ("unknown", "spelling")
    return tuple(name for name in TextPreset.__struct_fields__ if name not in _NOT_SENT and name not in own)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]
