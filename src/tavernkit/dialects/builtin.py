"""The dialects that come with the package, and the attachments that each provider takes."""

from __future__ import annotations

from tavernkit.dialects.ai21 import ai21
from tavernkit.dialects.anthropic import anthropic
from tavernkit.dialects.cohere import cohere
from tavernkit.dialects.google import google
from tavernkit.dialects.mistral import mistral
from tavernkit.dialects.openai import openai
from tavernkit.dialects.registry import Accepts, register
from tavernkit.dialects.text import text
from tavernkit.dialects.xai import xai

_PICTURES = frozenset({"image"})


def register_builtin() -> None:
    register(
        "openai",
        openai,
        accepts=Accepts(data=frozenset({"image", "audio", "video", "file"}), url=frozenset({"image", "video"})),
    )
    register(
        "anthropic",
        anthropic,
        accepts=Accepts(data=frozenset({"image", "file"}), url=frozenset({"image", "file"})),
        system_anywhere=False,
    )
    register(
        "google",
        google,
        accepts=Accepts(data=frozenset({"image", "audio", "video", "file"})),
        system_anywhere=False,
    )
    register("cohere", cohere, accepts=Accepts(data=_PICTURES, url=_PICTURES))
    register("ai21", ai21, accepts=Accepts(), system_anywhere=False)
    register(
        "mistral",
        mistral,
        accepts=Accepts(data=frozenset({"image", "audio", "file"}), url=frozenset({"image", "file"})),
        system_anywhere=False,
    )
    register("xai", xai, accepts=Accepts(data=_PICTURES, url=_PICTURES))
    register("text", text, accepts=Accepts())
