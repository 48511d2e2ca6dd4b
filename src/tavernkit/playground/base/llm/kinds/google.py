"""Talking to Gemini: Google's generateContent, and servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ChatRequest, Counts
from tavernkit.playground.base.llm.completion import (
    Complaint,
    Completion,
    count,
    listed,
    read_completion,
    read_object,
    tokens_in_all,
)
from tavernkit.playground.base.llm.http_model import OPENAI_FIELDS, HttpModel, wanted_fields, wanted_stops
from tavernkit.playground.base.llm.kinds.kind import ProviderKind
from tavernkit.reading import LooseObject
from tavernkit.values import JsonObject

MAX_STOPS = 5

_GENERATION = {
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "seed": "seed",
}
"""Where the fields of other APIs go among those of `generationConfig`."""

_HANDLED = OPENAI_FIELDS | _GENERATION.keys() | {"generationConfig", "model", "stream"}
_REASONS = {"finish_reason_unspecified": "stop", "max_tokens": "length"}


class GoogleClient(HttpModel):
    """A ModelClient with a base URL such as `https://generativelanguage.googleapis.com/v1beta`."""

    address_hint = _("Enter the base URL of a Gemini-compatible API; it usually ends in /v1beta.")
    dialect = "google"
    models_path = "/models?pageSize=1000"
    endings = ("/models",)
    usual_path = "/v1beta"
    # In a header, for addresses are written into logs.
    key_header = ("x-goog-api-key", "")

    def _question(self, request: ChatRequest) -> tuple[str, JsonObject]:
        wanted = wanted_fields(request)
        generation = {theirs: wanted[ours] for ours, theirs in _GENERATION.items() if wanted.get(ours) is not None}
        if stops := wanted_stops(request):
            generation["stopSequences"] = stops[:MAX_STOPS]
        own, written = wanted.get("generationConfig"), self._written_fields(request)
        instruction = written.get("system_instruction")
        says_something = isinstance(instruction, Mapping) and instruction.get("parts")
        verb = "streamGenerateContent?alt=sse" if self._streams else "generateContent"
        return f"/models/{quote(request.model.removeprefix('models/'), safe='')}:{verb}", {
            **{key: value for key, value in wanted.items() if key not in _HANDLED},
            "generationConfig": {**generation, **(own if isinstance(own, Mapping) else {})},
            **written,
            "system_instruction": instruction if says_something else None,
        }

    def _writing(self, models: list[LooseObject]) -> list[LooseObject]:
        methods = [model.texts("supportedGenerationMethods") for model in models]
        return [model for model, can in zip(models, methods, strict=True) if not can or "generateContent" in can]

    def _read(self, source: str | bytes) -> Completion | None:
        body = read_object(source)
        if body is None:
            return None
        if not (body.has("candidates") or body.has("promptFeedback") or body.has("usageMetadata")):
            return read_completion(source)
        blocked = body.nested("promptFeedback").text("blockReason")
        if blocked:
            return Completion(complaint=Complaint(message=blocked, blocked=True))
        counts = _counts(body.nested("usageMetadata"))
        for candidate in body.objects("candidates"):
            if candidate.integer("index") == 0:
                return _candidate(candidate).with_(counts=counts)
        return Completion(counts=counts)


def _candidate(candidate: LooseObject) -> Completion:
    parts = listed(candidate.nested("content").raw("parts"))
    reason = candidate.text("finishReason").lower()
    return Completion(
        has_choice=True,
        text="".join(part.text("text") for part in parts if not part.flag("thought")),
        thought="".join(part.text("text") for part in parts if part.flag("thought")),
        reason=_REASONS.get(reason, reason) or None,
    )


def _counts(usage: LooseObject) -> Counts:
    thoughts = count(usage, "thoughtsTokenCount")
    return Counts(
        prompt_tokens=count(usage, "promptTokenCount"),
        completion_tokens=tokens_in_all(count(usage, "candidatesTokenCount"), thoughts),
        thought_tokens=thoughts,
        cached_tokens=count(usage, "cachedContentTokenCount"),
    )


GOOGLE = ProviderKind(
    id="google",
    label="Google",
    client=GoogleClient,
    dialect=GoogleClient.dialect,
    home="https://generativelanguage.googleapis.com/v1beta",
    settings=frozenset({"frequency_penalty", "presence_penalty", "seed", "effort"}),
    samplers=("top_p", "top_k", "frequency_penalty", "presence_penalty", "seed"),
    ranges={
        "temperature": (0, 2),
        "top_p": (0, 1),
        "top_k": (0, 1000),
        "frequency_penalty": (-2, 2),
        "presence_penalty": (-2, 2),
        "seed": (-1, 2**31 - 1),
    },
    max_stops=MAX_STOPS,
    risu_model="gemini",
)
