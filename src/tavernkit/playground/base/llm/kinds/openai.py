"""Any server that speaks OpenAI's completions of chats, or of texts, where the reply goes on from the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ChatRequest
from tavernkit.playground.base.llm.completion import Completion, read_completion
from tavernkit.playground.base.llm.http_model import HttpModel, wanted_fields
from tavernkit.playground.base.llm.kinds.kind import ProviderKind
from tavernkit.values import Json, JsonObject


class OpenAIClient(HttpModel):
    """A ModelClient for chats, with a base URL such as `http://127.0.0.1:11434/v1`."""

    address_hint = _("Enter the base URL of an OpenAI-compatible API; it usually ends in /v1.")
    dialect = "openai"
    endings = ("/chat/completions", "/completions")
    key_header = ("authorization", "Bearer ")

    def _question(self, request: ChatRequest) -> tuple[str, JsonObject]:
        # Messages without a prompt are in this very dialect.
        written = request.messages if request.prompt is None else self._written(request)
        fields = {**self._common(request), **(written if isinstance(written, Mapping) else {"messages": written})}
        if "max_tokens" in fields and urlsplit(self._base_url).hostname == "api.openai.com":
            # There, the newest models refuse the name that everybody else knows.
            fields["max_completion_tokens"] = fields.pop("max_tokens")
        return "/chat/completions", fields

    def _read(self, source: str | bytes) -> Completion | None:
        return read_completion(source)

    def _common(self, request: ChatRequest) -> dict[str, Json]:
        counted: dict[str, Json] = {"stream_options": {"include_usage": True}} if self._streams else {}
        return {**counted, **wanted_fields(request), "model": request.model, "stream": self._streams}


class OpenAITextClient(OpenAIClient):
    """A ModelClient for texts."""

    dialect = "text"

    def _question(self, request: ChatRequest) -> tuple[str, JsonObject]:
        return "/completions", {**self._common(request), "prompt": self._written(request)}


OPENAI = ProviderKind(
    id="openai",
    label=_("Chat completion (OpenAI-compatible)"),
    client=OpenAIClient,
    dialect=OpenAIClient.dialect,
    home="https://api.openai.com/v1",
    settings=frozenset(
        {"min_p", "top_a", "frequency_penalty", "presence_penalty", "repetition_penalty", "seed", "effort"}
    ),
    samplers=(
        *("top_p", "top_k", "min_p", "top_a", "typical_p"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty"),
        *("seed", "logit_bias", "reasoning_effort", "verbosity"),
    ),
    ranges={
        "temperature": (0, 2),
        "top_p": (0, 1),
        "top_k": (0, 1000),
        "min_p": (0, 1),
        "top_a": (0, 1),
        "typical_p": (0, 1),
        "frequency_penalty": (-2, 2),
        "presence_penalty": (-2, 2),
        "repetition_penalty": (0, 2),
        "seed": (-1, 2**53 - 1),
    },
    max_stops=4,
    takes_json_schema=True,
)

OPENAI_TEXT = ProviderKind(
    id="openai_text",
    label=_("Text completion (OpenAI-compatible)"),
    client=OpenAITextClient,
    dialect=OpenAITextClient.dialect,
    home=OPENAI.home,
    settings=OPENAI.settings - {"effort"} | {"typical_p", "instruct_id", "context_id"},
    samplers=(
        *OPENAI.samplers,
        *("repetition_penalty_range", "dry_multiplier", "dry_base", "dry_allowed_length"),
        *("xtc_threshold", "xtc_probability", "mirostat_mode", "mirostat_tau", "mirostat_eta"),
        *("tfs", "banned_strings"),
    ),
    # Servers for texts are mostly people's own, and take more than OpenAI's do.
    ranges={
        **OPENAI.ranges,
        "temperature": (0, 5),
        "repetition_penalty": (0.5, 3),
        "repetition_penalty_range": (-1, 32768),
        "dry_multiplier": (0, 5),
        "dry_base": (1, 4),
        "dry_allowed_length": (1, 20),
        "xtc_threshold": (0, 0.5),
        "xtc_probability": (0, 1),
        "mirostat_mode": (0, 2),
        "mirostat_tau": (0, 20),
        "mirostat_eta": (0, 1),
        "tfs": (0, 1),
    },
)
