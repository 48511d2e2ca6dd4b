"""The kinds of providers: which client talks to each, and where it lives unless somebody says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from tavernkit.playground.base.llm.anthropic import AnthropicClient
from tavernkit.playground.base.llm.google import GoogleClient
from tavernkit.playground.base.llm.http_model import HttpModel
from tavernkit.playground.base.llm.openai import OpenAIClient, OpenAITextClient

RemoteKind: TypeAlias = Literal["openai", "openai_text", "anthropic", "google"]
Kind: TypeAlias = Literal["openai", "openai_text", "anthropic", "google", "embedded"]

CLIENTS: Mapping[str, type[HttpModel]] = {
    "openai": OpenAIClient,
    "openai_text": OpenAITextClient,
    "anthropic": AnthropicClient,
    "google": GoogleClient,
}

HOMES: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "openai_text": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta",
}
