"""The preset and the templates of a prompt, with the settings of the story laid over them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database import models
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.kinds import kind_of
from tavernkit.playground.story.access.access import is_usable_in
from tavernkit.playground.story.presets.queries import AnyPreset, decode_preset, default_preset_id
from tavernkit.playground.story.settings_schema.models import LlmGroup, ModelGroup, StorySettings
from tavernkit.risuai.module import Module
from tavernkit.sillytavern import ReasoningSettings, Story, UserSettings, with_context, with_templates
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    MasterExport,
    PresetPrompt,
    ReasoningTemplate,
    SystemPrompt,
    TextPreset,
)
from tavernkit.values import Value

USUAL_REASONING: Final = ReasoningSettings(prefix="<think>", suffix="</think>", separator="\n\n")
"""How most models that think aloud mark it."""


PRESET = "preset"
TEMPLATES = ("instruct", "context", "system_prompt", "reasoning")


class Presets(Value, frozen=True, kw_only=True):
    """The stored presets that the settings name, decoded; one that is gone is not here. `ids` are theirs by the names
    of the fields; `missing` says in sentences which are left out because they are not shared with the space."""

    preset: AnyPreset | None = None
    instruct: Instruct | None = None
    context: ContextTemplate | None = None
    system_prompt: SystemPrompt | None = None
    reasoning: ReasoningTemplate | None = None
    modules: tuple[Module, ...] = ()
    ids: Mapping[str, UUID] = {}
    missing: tuple[str, ...] = ()


class ChosenPreset(Value, frozen=True, kw_only=True):
    """What a prompt is built by. `has_samplers` says whether somebody chose the preset, and with it its samplers."""

    preset: ChatPreset | TextPreset
    settings: UserSettings
    has_samplers: bool


async def decoded_presets(session: AsyncSession, ids: Iterable[UUID | None]) -> dict[UUID | None, AnyPreset]:
    """Stored presets and modules as the library knows them, by their ids."""
    wanted = {id for id in ids if id is not None}
    if not wanted:
        return {}
    rows = await session.scalars(
        select(models.Preset).where(models.Preset.id.in_(wanted), models.Preset.trashed_at.is_(None))
    )
    return {row.id: decode_preset(row.kind, row.data)[0] for row in rows}


async def load_presets(
    session: AsyncSession, space: models.Space, chosen: ModelGroup, modules: Sequence[UUID] = ()
) -> Presets:
    """The presets and modules that the settings name; where they name no preset, the default of the space's owner."""
    preset_id = chosen.preset_id or await default_preset_id(session, space.owner_id)
    templates = (chosen.instruct_id, chosen.context_id, chosen.system_prompt_id, chosen.reasoning_id)
    wanted = {id for id in (preset_id, *templates, *modules) if id is not None}
    found: dict[UUID | None, AnyPreset] = {}
    missing: list[str] = []
    if wanted:
        rows = await session.execute(
            select(models.Preset, is_usable_in(models.Preset, space)).where(
                models.Preset.id.in_(wanted), models.Preset.trashed_at.is_(None)
            )
        )
        for row, is_allowed in rows:
            if is_allowed:
                found[row.id] = decode_preset(row.kind, row.data)[0]
            else:
                missing.append(_("The preset “{name}” is not shared with this space. It was left out.", name=row.name))
    instruct, context, system_prompt, reasoning = map(found.get, templates)
    named = zip((PRESET, *TEMPLATES), (preset_id, *templates), strict=True)
    return Presets(
        preset=found.get(preset_id),
        instruct=instruct if isinstance(instruct, Instruct) else None,
        context=context if isinstance(context, ContextTemplate) else None,
        system_prompt=system_prompt if isinstance(system_prompt, SystemPrompt) else None,
        reasoning=reasoning if isinstance(reasoning, ReasoningTemplate) else None,
        modules=tuple(one for one in map(found.get, modules) if isinstance(one, Module)),
        ids={name: id for name, id in named if id is not None and id in found},
        missing=tuple(missing),
    )


def chosen_preset(presets: Presets, settings: StorySettings, provider: models.Provider) -> ChosenPreset:
    """The preset for the kind of completion that the provider makes, with everything that counts more than it does.

    A preset of the other kind of completion has nothing to say here.
    """
    choose = chosen_text if kind_of(provider).is_text else chosen_chat
    return choose(presets, settings, provider)


def chosen_chat(presets: Presets, settings: StorySettings, provider: models.Provider) -> ChosenPreset:
    """The preset of a chat completion."""
    own = presets.preset
    chat = own if isinstance(own, ChatPreset) else ChatPreset()
    if presets.system_prompt is not None:
        chat = _with_system_prompt(chat, presets.system_prompt)
    is_own = isinstance(own, ChatPreset)
    wanted = (chat.openai_max_context, chat.openai_max_tokens) if is_own else (None, None)
    context, reply = budget_for(settings.llm, provider, *wanted)
    chat = chat.with_(openai_max_context=context, openai_max_tokens=reply)
    return ChosenPreset(preset=chat, settings=user_settings(presets, settings), has_samplers=is_own)


def chosen_text(presets: Presets, settings: StorySettings, provider: models.Provider) -> ChosenPreset:
    """The preset of a text completion, with its templates."""
    own = presets.preset
    text = own.preset if isinstance(own, MasterExport) else own
    chosen = text if isinstance(text, TextPreset) else TextPreset()
    context, reply = budget_for(settings.llm, provider, chosen.max_length, chosen.genamt)
    chosen = chosen.with_(max_length=context, genamt=reply)
    return ChosenPreset(
        preset=chosen, settings=user_settings(presets, settings), has_samplers=isinstance(text, TextPreset)
    )


def budget_for(
    llm: LlmGroup, provider: models.Provider, preset_context: int | None, preset_reply: int | None
) -> tuple[int, int]:
    """The tokens for everything and for the reply: as set, else by the preset, within what the provider can do."""
    context = llm.context_tokens or min(preset_context or provider.context_tokens, provider.context_tokens)
    reply = llm.max_tokens or min(preset_reply or provider.response_tokens, context // 2)
    return context, reply


def _with_system_prompt(preset: ChatPreset, chosen: SystemPrompt) -> ChatPreset:
    """The preset with another main prompt, and another one behind the chat if the template has it."""
    texts = {"main": chosen.content, "jailbreak": chosen.post_history}
    replaced = {identifier: text for identifier, text in texts.items() if text}
    known = {prompt.identifier for prompt in preset.prompts}
    return preset.with_(
        prompts=(
            *(prompt.with_(content=replaced.get(prompt.identifier, prompt.content)) for prompt in preset.prompts),
            *(
                PresetPrompt(identifier=identifier, content=text, system_prompt=True)
                for identifier, text in replaced.items()
                if identifier not in known
            ),
        )
    )


def user_settings(presets: Presets, settings: StorySettings) -> UserSettings:
    """SillyTavern's settings for all chats, as this story has them."""
    chosen = UserSettings(
        reasoning=USUAL_REASONING,
        disable_group_trimming=settings.space.relax_message_trim,
        custom_stopping_strings=json.dumps(settings.llm.stop) if settings.llm.stop else "",
    )
    if isinstance(presets.preset, MasterExport):
        chosen = with_templates(Story(settings=chosen), presets.preset).settings
    if presets.instruct is not None:
        chosen = chosen.with_(instruct=presets.instruct.with_(enabled=True))
    if presets.context is not None:
        chosen = with_context(chosen, presets.context)
    if presets.system_prompt is not None:
        chosen = chosen.with_(sysprompt=presets.system_prompt.with_(enabled=True))
    template = presets.reasoning
    if template is not None:
        marks = chosen.reasoning.with_(
            name=template.name, prefix=template.prefix, suffix=template.suffix, separator=template.separator
        )
        chosen = chosen.with_(reasoning=marks)
    return chosen.with_(
        reasoning=chosen.reasoning.with_(
            auto_parse=settings.reasoning.auto_parse,
            add_to_prompts=settings.reasoning.add_to_prompts,
            max_additions=settings.reasoning.max_additions,
        )
    )
