"""Text-completion presets: the samplers of text-generation back ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.values import Json, JsonObject

NOVELAI_NAMES: Mapping[str, str] = {
    "temperature": "temp",
    "repetition_penalty": "rep_pen",
    "repetition_penalty_range": "rep_pen_range",
    "repetition_penalty_slope": "rep_pen_slope",
    "repetition_penalty_frequency": "freq_pen",
    "repetition_penalty_presence": "presence_pen",
    "tail_free_sampling": "tfs",
    "mirostat_lr": "mirostat_eta",
    "cfg_scale": "guidance_scale",
    "max_context": "max_length",
}
"""The fields of a NovelAI preset that have another name in text-completion presets."""


class TextPreset(PresetFile, frozen=True, kw_only=True):
    """A preset for one of SillyTavern's ways of text completion: text-generation back ends, KoboldAI, NovelAI."""

    OLD_NAMES: ClassVar[Mapping[str, str]] = {
        "ignore_eos_token_aphrodite": "ignore_eos_token",
        "spaces_between_special_tokens_aphrodite": "spaces_between_special_tokens",
        "typical": "typical_p",
        "mirostat": "mirostat_mode",
        "grammar": "grammar_string",
        **NOVELAI_NAMES,
    }

    name: str | None = None

    # Budget
    genamt: int | None = None
    max_length: int | None = None

    # Temperature
    temp: float = 0.7
    temperature_last: bool = False
    dynatemp: bool = False
    min_temp: float = 0.0
    max_temp: float = 2.0
    dynatemp_exponent: float = 1.0
    smoothing_factor: float = 0.0
    smoothing_curve: float = 1.0

    # Choice of tokens
    top_p: float = 0.5
    top_k: int = 40
    top_a: float = 0.0
    min_p: float = 0.0
    typical_p: float = 1.0
    tfs: float = 1.0
    epsilon_cutoff: float = 0.0
    eta_cutoff: float = 0.0
    nsigma: float = 0.0
    min_keep: int = 0
    skew: float = 0.0
    xtc_threshold: float = 0.1
    xtc_probability: float = 0.0
    adaptive_target: float = -0.01
    adaptive_decay: float = 0.9
    do_sample: bool = True
    seed: int = -1
    n: int = 1

    # Repetition
    rep_pen: float = 1.2
    rep_pen_range: int = 0
    rep_pen_decay: float = 0.0
    rep_pen_slope: float = 1.0
    rep_pen_size: int = 0
    encoder_rep_pen: float = 1.0
    freq_pen: float = 0.0
    presence_pen: float = 0.0
    no_repeat_ngram_size: int = 0
    dry_allowed_length: int = 2
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_sequence_breakers: str = '["\\n", ":", "\\"", "*"]'
    dry_penalty_last_n: int = 0

    # Other ways to search
    penalty_alpha: float = 0.0
    num_beams: int = 1
    length_penalty: float = 1.0
    min_length: int = 0
    early_stopping: bool = False
    mirostat_mode: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    guidance_scale: float = 1.0
    negative_prompt: str = ""
    speculative_ngram: bool = False

    # Tokens and grammars
    add_bos_token: bool = True
    ban_eos_token: bool = False
    ignore_eos_token: bool = False
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    include_reasoning: bool = True
    grammar_string: str = ""
    json_schema: Json = None
    json_schema_allow_empty: bool = False
    banned_tokens: str = ""
    global_banned_tokens: str = ""
    send_banned_tokens: bool = True
    logit_bias: tuple[Json, ...] = ()

    # The order of the samplers, one list for each back end
    sampler_order: tuple[Json, ...] = ()
    sampler_priority: tuple[Json, ...] = ()
    samplers: tuple[Json, ...] = ()
    samplers_priorities: tuple[Json, ...] = ()

    # Sending
    streaming: bool = False
    truncation_length: int | None = None
    max_tokens_second: int = 0
    bypass_status_check: bool = False
    custom_model: str = ""
    generic_model: str = ""
    openrouter_allow_fallbacks: bool = True

    extensions: JsonObject = {}

    @property
    def context_window_tokens(self) -> int:
        return 8192 if self.max_length is None else self.max_length

    @property
    def reserved_response_tokens(self) -> int:
        return 0 if self.genamt is None else self.genamt

    @property
    def max_prompt_tokens(self) -> int:
        return max(0, self.context_window_tokens - self.reserved_response_tokens)

    @classmethod
    def modernised(cls, source: JsonObject) -> dict[str, Json]:
        """Also writes sequence breakers that stand in a list as the JSON text that SillyTavern keeps.

        `max_length` is the length of the context, but of the reply in a NovelAI preset without `genamt`.
        """
        fields = super().modernised(source)
        if "genamt" not in source and "max_length" in source and source.keys() & NOVELAI_NAMES:
            fields["genamt"] = source["max_length"]
            fields["max_length"] = source.get("max_context")
        if isinstance(fields.get("dry_sequence_breakers"), list):
            fields["dry_sequence_breakers"] = json.dumps(fields["dry_sequence_breakers"], ensure_ascii=False)
        return fields
