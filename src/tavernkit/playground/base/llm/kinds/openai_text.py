"""Any server that speaks OpenAI's completions of texts: the prompt is what the reply goes on from."""

from __future__ import annotations

from tavernkit.playground.base.llm.base import ChatRequest
from tavernkit.playground.base.llm.http_model import Question
from tavernkit.playground.base.llm.kinds.kind import ProviderKind
from tavernkit.playground.base.llm.kinds.openai import OPENAI, OpenAIClient


class OpenAITextClient(OpenAIClient):
    """A ModelClient for texts."""

    dialect = "text"

    def _question(self, request: ChatRequest) -> Question:
        return Question(path="/completions", fields={**self._common(request), "prompt": self._written(request)})


OPENAI_TEXT = ProviderKind(
    id="openai_text",
    label="OpenAI-style text completion",
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
)
