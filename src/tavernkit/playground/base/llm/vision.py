"""Which models see pictures: what is said of a provider, or else what the name of its model tells."""

from __future__ import annotations

import re

from tavernkit.dialects import registry
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.kinds import dialect_of

_SEEING = re.compile(
    r"""
      gpt-(4o|4\.1|4\.5|4-turbo|4-vision|5) | chatgpt-4o | \bo1(?!-(mini|preview)) | \bo3(?!-mini) | \bo4-mini
    | claude-(3|opus|sonnet|haiku|[4-9])
    | gemini-(?!embedding) | gemma-?(3n?|4)(?!.*\b(1b|270m)\b)
    | grok-(.*vision|[4-9])
    | pixtral | mistral-(small-(3\.[1-9]|2503|2506|latest)|medium-(3|2505|2508|latest)|large-(3|2512|latest))
    | magistral | llava | llama-?4 | llama-guard-4 | llama-?3\.2-.*vision | qwen-?[23](\.5)?-?(vl|omni) | qvq
    | internvl | minicpm-v | moondream | molmo | idefics | smolvlm | cogvlm | glm-4(\.\d)?v | deepseek-vl
    | phi-.*(vision|multimodal) | command-a-vision | aya-vision | nova-(lite|pro|premier) | kimi-.*vl
    | vision | multimodal | \bvl\b | -vl- | \bomni\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BLIND = re.compile(r"embedding|whisper|tts|audio|moderation|rerank", re.IGNORECASE)


def guess_sight(model: str) -> bool:
    """Whether a model of this name is known to see pictures."""
    return _SEEING.search(model) is not None and _BLIND.search(model) is None


def takes_pictures(provider: Provider) -> bool:
    """Whether pictures can be written in its dialect at all."""
    return "image" in registry.registered(dialect_of(provider)).accepts.data


def sees_pictures(provider: Provider) -> bool:
    """Whether pictures are sent to it."""
    said = provider.sees_pictures
    return takes_pictures(provider) and (guess_sight(provider.model) if said == "auto" else said == "yes")
