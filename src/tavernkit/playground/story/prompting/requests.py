"""From a plan to what a model's client sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tavernkit import Message, Plan
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.base import ChatRequest
from tavernkit.playground.base.llm.kinds import ProviderKind, kind_of
from tavernkit.playground.base.storable import presentable
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject

_EFFORTS = {"min": "low", "low": "low", "medium": "medium", "high": "high", "max": "high"}


def model_request(inputs: PromptInputs, plan: Plan, *, has_samplers: bool) -> ChatRequest:
    """The request, of which every text can be stored as it is sent.

    Without a preset that somebody chose, the provider's own samplers count, except where the story's settings say
    otherwise.
    """
    provider, kind = inputs.provider, kind_of(inputs.provider)
    wanted = {**(_known(plan.llm_options) if has_samplers else {}), **_explicit(inputs)}
    most = (_read(plan.llm_options).optional_integer("max_tokens"), inputs.limits.max_tokens)
    written = presentable(plan.to_messages(kind.dialect, model=provider.model, **_unchosen(kind, plan)))
    return ChatRequest(
        model=provider.model,
        messages=tuple(item for item in written if isinstance(item, dict)) if isinstance(written, list) else (),
        prompt=written if isinstance(written, str | dict) else None,
        max_tokens=min((tokens for tokens in most if tokens is not None), default=None),
        temperature=_read(wanted).optional_number("temperature"),
        stop=kind.stops(dict.fromkeys(_stops(inputs, plan))),
        options={**kind.sampling(wanted), **provider.settings},
    )


def step_request(
    provider: Provider,
    messages: Sequence[Message],
    *,
    model: str | None = None,
    sampling: JsonObject | None = None,
    json_schema: JsonObject | None = None,
) -> ChatRequest:
    """A question beside the story: a few messages, with samplers in OpenAI's words as far as the provider knows them.

    `json_schema` is what the answer must fit, for providers that can be held to it.
    """
    wanted, kind = _read(sampling or {}), kind_of(provider)
    options = kind.sampling(wanted.source)
    if json_schema is not None and kind.takes_json_schema:
        options["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": dict(json_schema)},
        }
    return ChatRequest(
        model=model or provider.model,
        messages=tuple(presentable({"role": message.role, "content": message.content}) for message in messages),
        max_tokens=wanted.optional_integer("max_tokens") or provider.response_tokens,
        temperature=wanted.optional_number("temperature"),
        stop=kind.stops(wanted.texts("stop")),
        options={**options, **provider.settings},
    )


def _read(options: JsonObject) -> LooseObject:
    return LooseObject(presentable(options), ReportBuilder())


def _unchosen(kind: ProviderKind, plan: Plan) -> dict[str, Json]:
    """The kind's own options of its dialect, where nobody has chosen others."""
    chosen = plan.dialect_options
    return {name: value for name, value in kind.dialect_options.items() if chosen.get(name, "none") == "none"}


def _known(options: Mapping[str, Json]) -> dict[str, Json]:
    effort = _EFFORTS.get(str(options.get("reasoning_effort")))
    return {
        **{name: value for name, value in options.items() if name != "reasoning_effort"},
        **({} if effort is None else {"reasoning_effort": effort}),
    }


def _explicit(inputs: PromptInputs) -> dict[str, Json]:
    """What the story's settings say themselves."""
    llm = inputs.settings.llm.model_dump(exclude={"context_tokens", "max_tokens", "stop", "stream"}, exclude_none=True)
    if llm.get("seed") == -1:
        del llm["seed"]
    effort = _EFFORTS.get(inputs.settings.reasoning.effort)
    return llm if effort is None else {**llm, "reasoning_effort": effort}


def _stops(inputs: PromptInputs, plan: Plan) -> Iterator[str]:
    """Those of who asked, the plan's own, then the names of everybody who is not to speak: what they would say is cut
    off anyway."""
    yield from inputs.limits.stop
    yield from _read(plan.llm_options).texts("stop")
    cast = inputs.cast
    speaking, other = cast.character.name, cast.user.name
    if inputs.generation_type == "impersonate":
        speaking, other = other, speaking
    yield presentable(f"\n{other}:")
    if cast.group is not None and not inputs.settings.space.relax_message_trim:
        for member in cast.group.present:
            if member.name != speaking:
                yield presentable(f"\n{member.name}:")
