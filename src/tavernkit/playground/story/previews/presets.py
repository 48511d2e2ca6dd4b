"""A preset on trial: the tokens that each of its prompts takes in a conversation, and the text that it makes of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from tavernkit import Block, Plan, example, sillytavern
from tavernkit.hooks import BuildHooks
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.presets.queries import AnyPreset
from tavernkit.playground.story.previews.service import in_preview, next_inputs
from tavernkit.playground.story.prompting.building import build_on_sillytavern, variables_in
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.on_risuai import build_on_risuai
from tavernkit.playground.story.prompting.presets import (
    Presets,
    budget_for,
    chosen_chat,
    chosen_text,
    user_settings,
)
from tavernkit.playground.story.settings_schema.models import StorySettings
from tavernkit.risuai.settings import RisuSettings
from tavernkit.sillytavern import Story
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    MasterExport,
    ReasoningTemplate,
    SystemPrompt,
    TextPreset,
)
from tavernkit.values import Value

_SAMPLE_TIME: Final = datetime(2024, 5, 1, 12, tzinfo=UTC)
_OF_CARDS: Final = {"lorebook": "lorebook", "lore": "lorebook", "memory": "memory", "supaMemory": "memory"}
"""Which type of card shows what comes from no card itself; everything else is the chat."""


class PresetTokens(Value, frozen=True, kw_only=True):
    """How many tokens a prompt takes, and each part of the preset in it: prompts by identifier, cards by place.

    `others` are parts that belong to none, such as the author's note.
    """

    parts: Mapping[str, int]
    others: int
    total: int
    budget: int


async def measure_preset(runtime: Runtime, viewer: Viewer, preset: AnyPreset, conversation_id: UUID) -> PresetTokens:
    """Build the next prompt of a conversation by this preset, and count."""
    if not isinstance(preset, ChatPreset | RisuSettings):
        raise Refused("invalid", _("Only chat-completion and RisuAI presets have prompts to measure."))
    inputs = await next_inputs(runtime, viewer, conversation_id, kind="normal")
    # Merged messages would belong to nobody.
    tried = preset.with_(squash_system_messages=False) if isinstance(preset, ChatPreset) else preset
    inputs = inputs.with_(presets=inputs.presets.with_(preset=tried))
    return await in_preview(lambda: _measure(inputs, tried))


def _measure(inputs: PromptInputs, preset: ChatPreset | RisuSettings) -> PresetTokens:
    variables = variables_in(inputs.state, inputs.global_variables)
    chosen = chosen_chat(inputs.presets, inputs.settings, inputs.provider)
    plan: Plan
    if isinstance(preset, ChatPreset):
        plan = build_on_sillytavern(inputs, chosen, variables, BuildHooks()).plan
        known = {prompt.identifier for prompt in preset.prompts}
        context, _reply = budget_for(inputs.settings.llm, inputs.provider, preset.openai_max_context, None)
    else:
        plan = build_on_risuai(inputs, chosen, variables, BuildHooks()).plan
        known = {str(place) for place in range(len(preset.template or ()))}
        context, _reply = budget_for(inputs.settings.llm, inputs.provider, preset.max_context, None)
    parts: dict[str, int] = {}
    others = 0
    for block in plan.enabled_blocks:
        tokens = inputs.estimator.estimate(block.content, inputs.provider.model)
        owners = [name for name in _owners(block, preset) if name in known]
        if not owners:
            others += tokens
        for place, name in enumerate(owners):
            # Prompts of one depth and role are one message: each has its share.
            share = tokens // len(owners) + (tokens % len(owners) if place == 0 else 0)
            parts[name] = parts.get(name, 0) + share
    return PresetTokens(parts=parts, others=others, total=sum(parts.values()) + others, budget=context)


def _owners(block: Block, preset: ChatPreset | RisuSettings) -> Iterator[str]:
    """The parts of the preset that a block comes from."""
    source, slot = str(block.source.get("id", "")), block.slot or ""
    if isinstance(preset, RisuSettings):
        kind, _colon, rest = source.partition(":")
        if kind == "card":
            yield rest.partition(":")[0]
            return
        type = _OF_CARDS.get(slot, "chat" if slot in ("message", "history", "chat", "new_chat", "example") else slot)
        yield from (str(place) for place, card in enumerate(preset.template or ()) if card.type == type)
        return
    in_chat = block.metadata.get("parts")
    if slot == "injection" and isinstance(in_chat, list):
        yield from map(str, in_chat)
    elif slot in ("history", "new_chat", "tool"):
        yield "chatHistory"
    elif slot in ("example", "new_example", "new_example_chat"):
        yield "dialogueExamples"
    else:
        yield source


async def render_preset(
    runtime: Runtime, viewer: Viewer, preset: AnyPreset, conversation_id: UUID | None = None
) -> str:
    """The text of a text completion by these templates: of a conversation, or of the small story that comes with the
    package."""
    export = as_export(preset)
    if export is None:
        raise Refused("invalid", _("Only presets and templates of text completion make one text."))
    if conversation_id is None:
        return await in_preview(lambda: _sample(export))
    inputs = await next_inputs(runtime, viewer, conversation_id, kind="normal")
    found = inputs.presets
    kept = found.preset if isinstance(found.preset, MasterExport) else MasterExport(preset=_text_of(found.preset))
    joined = kept.with_(**{name: part for name in _PARTS if (part := getattr(export, name)) is not None})
    # What the story has chosen itself stays, but for the parts that are being edited.
    presets = Presets(
        preset=joined,
        instruct=found.instruct if export.instruct is None else None,
        context=found.context if export.context is None else None,
        system_prompt=found.system_prompt if export.sysprompt is None else None,
        reasoning=found.reasoning if export.reasoning is None else None,
        modules=found.modules,
    )
    inputs = inputs.with_(presets=presets)
    return await in_preview(lambda: _rendered(inputs))


_PARTS: Final = ("instruct", "context", "sysprompt", "preset", "reasoning", "srw")


def as_export(preset: AnyPreset) -> MasterExport | None:
    """A part of text completion as a master export with that part; None for other kinds."""
    match preset:
        case MasterExport():
            return preset
        case TextPreset():
            return MasterExport(preset=preset)
        case Instruct():
            return MasterExport(instruct=preset)
        case ContextTemplate():
            return MasterExport(context=preset)
        case SystemPrompt():
            return MasterExport(sysprompt=preset)
        case ReasoningTemplate():
            return MasterExport(reasoning=preset)
        case _:
            return None


def _text_of(preset: AnyPreset | None) -> TextPreset | None:
    return preset if isinstance(preset, TextPreset) else None


def _sample(export: MasterExport) -> str:
    settings = user_settings(Presets(preset=export), StorySettings())
    built = sillytavern.build(
        story=Story(settings=settings),
        character=example.character(),
        user=example.user(),
        history=example.history(),
        preset=export.preset or TextPreset(),
        clock=lambda: _SAMPLE_TIME,
    )
    return _as_text(built.plan)


def _rendered(inputs: PromptInputs) -> str:
    chosen = chosen_text(inputs.presets, inputs.settings, inputs.provider)
    variables = variables_in(inputs.state, inputs.global_variables)
    return _as_text(build_on_sillytavern(inputs, chosen, variables, BuildHooks()).plan)


def _as_text(plan: Plan) -> str:
    written = plan.to_messages("text")
    return storable(written) if isinstance(written, str) else ""
