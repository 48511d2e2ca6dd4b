"""What a preset asks of the request beside its messages, and what of it is not sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from tavernkit.dialects import PostProcessing
from tavernkit.errors import ParseError
from tavernkit.prompt.context import Context
from tavernkit.prompt.tokens import ModelTokenEstimator
from tavernkit.reading import parse_json
from tavernkit.sillytavern.chat_completion.scene import ChatScene
from tavernkit.sillytavern.presets import ChatPreset
from tavernkit.sillytavern.stopping_strings import stopping_strings
from tavernkit.values import Json

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
    prefix = _ONLY_FOR.get(preset.chat_completion_source)
    if prefix is None:
        return
    usual, fields = ChatPreset(), sorted(name for name in UNSUPPORTED if name.startswith(prefix))
    unheeded = [name for name in fields if getattr(preset, name) != getattr(usual, name)]
    if unheeded:
        ctx.warn(
            "preset_field_unsupported",
            f"The preset asks for things that are not sent: {', '.join(unheeded)}. Set them where the request is made.",
            fields=unheeded,
        )


_ALWAYS = ("temperature", "frequency_penalty", "presence_penalty", "top_p")
_WHEN_CHANGED = (
    "top_k",
    "top_a",
    "min_p",
    "repetition_penalty",
    "n",
    "reasoning_effort",
    "verbosity",
    "enable_web_search",
    "request_images",
    "request_image_aspect_ratio",
    "request_image_resolution",
    "tool_reasoning_mode",
)
PLACEHOLDER = "[Start a new chat]"
"""What SillyTavern has the user say where a provider demands words and there are none."""

USUAL_STOPS = 4
_MOST_STOPS = {"claude": None, "makersuite": 5, "vertexai": 5, "cohere": 5}
"""How many stopping strings a source takes, where it is not the usual number."""

_MODEL_FIELDS = {"makersuite": "google_model", "azure_openai": "azure_openai_model"}


def chosen_model(preset: ChatPreset) -> str:
    """The model of the source that the preset is set to."""
    source = preset.chat_completion_source
    name = _MODEL_FIELDS.get(source, f"{source}_model")
    return str(getattr(preset, name)) if name in ChatPreset.__struct_fields__ else ""


def request_options(ctx: Context, scene: ChatScene) -> dict[str, Json]:
    """The samplers and limits, under the names that SillyTavern sends them by."""
    preset, usual = scene.preset, ChatPreset()
    options: dict[str, Json] = {
        "max_tokens": preset.openai_max_tokens,
        "stream": preset.stream_openai and ctx.generation_type != "quiet",
        "include_reasoning": preset.show_thoughts,
    }
    if ctx.model:
        options["model"] = ctx.model
    options |= {name: getattr(preset, name) for name in _ALWAYS}
    options |= {name: getattr(preset, name) for name in _WHEN_CHANGED if getattr(preset, name) != getattr(usual, name)}
    if preset.seed >= 0:
        options["seed"] = preset.seed
    stop = stopping_strings(
        scene.story.settings,
        user_name=ctx.require_user().name,
        character_name=ctx.require_character().name,
        api="chat",
        expand=scene.expand,
        warn=lambda problem: ctx.warn("stopping_strings", problem),
    )
    most = _MOST_STOPS.get(preset.chat_completion_source, USUAL_STOPS)
    if most is not None and len(stop) > most:
        ctx.warn("stopping_strings", f"Only the first {most} of {len(stop)} stopping strings are sent.")
    if stop:
        options["stop"] = list(stop[:most])
    bias = dict(_logit_bias(ctx, scene))
    if bias:
        options["logit_bias"] = bias
    return options


def dialect_options(ctx: Context, scene: ChatScene) -> dict[str, Json]:
    """What the preset says about the form of the messages, for the dialect that will write them."""
    preset = scene.preset
    options: dict[str, Json] = {
        "placeholder": PLACEHOLDER,
        "use_system_prompt": preset.use_sysprompt,
        "post_processing": _post_processing(ctx, preset),
        "use_tools": preset.function_calling,
    }
    prefill = preset.assistant_impersonation if ctx.generation_type == "impersonate" else preset.assistant_prefill
    continues = ctx.generation_type == "continue" and preset.continue_prefill
    if prefill and ctx.generation_type != "quiet" and not continues:
        options["prefill"] = str(scene.expand(prefill))
    return options


def _post_processing(ctx: Context, preset: ChatPreset) -> str:
    wanted = preset.custom_prompt_post_processing or "none"
    if wanted in get_args(PostProcessing):
        return wanted
    ctx.warn(
        "preset_field_unsupported",
        f"preset.custom_prompt_post_processing: {wanted!r} is not known: the messages are sent as they are.",
        fields=["custom_prompt_post_processing"],
    )
    return "none"


def _logit_bias(ctx: Context, scene: ChatScene) -> Iterator[tuple[str, float]]:
    """How likely tokens shall be, by their numbers, which depend on the model."""
    estimator = ctx.estimator
    for entry in scene.story.bias_presets.get(scene.preset.bias_preset_selected, ()):
        numbers = _token_numbers(entry.text)
        if numbers is None and isinstance(estimator, ModelTokenEstimator):
            numbers = [piece.id for piece in estimator.tokenize(scene.expand(entry.text), ctx.model)]
        yield from ((str(number), entry.value) for number in numbers or ())


def _token_numbers(text: str) -> list[int] | None:
    """The numbers of a text that lists them, such as `[15, 27]`."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        numbers = parse_json(text, what="A list of token numbers")
    except ParseError:
        return None
    if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
        return None
    return [int(number) for number in numbers]
