"""The inputs of a traced build, each text of which says where it comes from."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tavernkit.characters.character import Character
from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import TracedText
from tavernkit.prompt.sources import (
    AnySource,
    FromCard,
    FromChat,
    FromHistory,
    FromInjection,
    FromLore,
    FromPersona,
    FromPreset,
    FromTemplate,
    KeyFound,
)
from tavernkit.prompt.tracing import traced, traced_fields
from tavernkit.sillytavern.presets import ChatPreset
from tavernkit.sillytavern.scene import Scene
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.story import Story
from tavernkit.sillytavern.world_info import Source, WorldInfoVerdict
from tavernkit.sillytavern.world_info.fields import WorldEntry
from tavernkit.values import JsonObject, Value

V = TypeVar("V", bound=Value)

_CARD_FIELDS = (
    *("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt"),
    "post_history_instructions",
)
_PRESET_FIELDS = (
    *("new_chat_prompt", "new_group_chat_prompt", "new_example_chat_prompt", "group_nudge_prompt"),
    *("continue_nudge_prompt", "impersonation_prompt", "send_if_empty", "wi_format", "scenario_format"),
    *("personality_format", "assistant_prefill"),
)
_STORY_FIELDS = ("scenario", "examples", "system_prompt")
_TEXTS: Mapping[Source, str] = {
    Source.PERSONA_DESCRIPTION: "persona",
    Source.CHARACTER_DESCRIPTION: "description",
    Source.CHARACTER_PERSONALITY: "personality",
    Source.CHARACTER_DEPTH_PROMPT: "depth_prompt",
    Source.SCENARIO: "scenario",
    Source.CREATOR_NOTES: "creator_notes",
    Source.INJECTION: "injection",
    Source.RECURSION: "another entry",
}


def trace_inputs(ctx: Context, scene: Scene) -> None:
    """Mark everything that the later stages read."""
    ctx.character = _card(ctx.require_character())
    user = ctx.require_user()
    ctx.user = traced_fields(user, ("persona",), FromPersona(user=user.name))
    ctx.message = traced(ctx.message, FromHistory(message=len(ctx.history)))
    if isinstance(ctx.preset, ChatPreset):
        ctx.preset = traced_fields(ctx.preset, _PRESET_FIELDS, lambda name: FromPreset(prompt=name)).with_(
            prompts=tuple(
                traced_fields(prompt, ("content",), FromPreset(prompt=prompt.identifier, name=prompt.name))
                for prompt in ctx.preset.prompts
            )
        )
    scene.story = _story(scene.story)
    scene.take_preset(ctx.preset)


def of_message(index: int, metadata: JsonObject, part: str = "") -> FromHistory:
    """A message of the chat, or a part of it, as a source."""
    swipe = metadata.get("swipe_id") if metadata else None
    return FromHistory(message=index, swipe=swipe if isinstance(swipe, int) else None, part=part)


class EntryMarks:
    """Marks the contents of entries that wake up, with the keys that did it, and where they stood."""

    def __init__(self, scene: Scene) -> None:
        self._scene = weakref.ref(scene)
        self._told: list[tuple[str, WorldEntry]] = []

    def __call__(self, content: str, entry: WorldEntry, verdict: WorldInfoVerdict) -> str:
        if isinstance(content, TracedText):
            return content
        self._told.append((content.lower(), entry))
        source = entry.source
        return traced(
            content,
            FromLore(
                book=entry.world,
                entry=source.id,
                name=source.name or source.comment,
                cause=verdict.lore_cause,
                key=verdict.key,
                found=self._found(entry, verdict),
            ),
        )

    def _found(self, entry: WorldEntry, verdict: WorldInfoVerdict) -> KeyFound | None:
        place, scene = verdict.place, self._scene()
        if place is None or verdict.key is None or scene is None:
            return None
        key = verdict.key.lower()
        if place.message is not None and place.message < len(scene.turns):
            turn = scene.turns[-1 - place.message]
            offset = turn.text.lower().find(key)
            return KeyFound(message=turn.index, offset=offset if offset >= 0 else None)
        if place.source == Source.RECURSION:
            for told, other in self._told:
                if other is not entry and key in told:
                    return KeyFound(entry=other.source.id, book=other.world)
        return None if place.source is None else KeyFound(text=_TEXTS[place.source])


def _card(card: Character) -> Character:
    def source(field: str) -> AnySource:
        return FromCard(character=card.name, field=field, version=card.character_version)

    marked = traced_fields(card, _CARD_FIELDS, source)
    note = card.extensions.get("depth_prompt")
    if isinstance(note, Mapping) and isinstance(text := note.get("prompt"), str):
        marked = marked.with_(
            extensions={**card.extensions, "depth_prompt": {**note, "prompt": traced(text, source("depth_prompt"))}}
        )
    return marked


def _story(story: Story) -> Story:
    changes: dict[str, Any] = {
        "settings": _settings(story.settings),
        "note": traced_fields(story.note, ("text",), FromChat(field="note")),
        "extension_prompts": tuple(
            traced_fields(prompt, ("content",), FromInjection(id=prompt.key)) for prompt in story.extension_prompts
        ),
    }
    if story.character_note is not None:
        changes["character_note"] = traced_fields(story.character_note, ("text",), FromChat(field="character_note"))
    if story.quiet is not None:
        changes["quiet"] = traced_fields(story.quiet, ("text",), FromChat(field="quiet_prompt"))
    if story.group is not None:
        group = traced_fields(
            story.group, ("join_prefix", "join_suffix"), lambda name: FromTemplate(what=f"group.{name}")
        )
        group = traced_fields(
            group, ("scenario_override", "mes_example_override"), lambda name: FromChat(field=f"group.{name}")
        )
        changes["group"] = group.with_(
            cast=tuple(member.with_(character=_card(member.character)) for member in group.cast)
        )
    return traced_fields(story, _STORY_FIELDS, lambda name: FromChat(field=name)).with_(**changes)


def _settings(settings: UserSettings) -> UserSettings:
    return settings.with_(
        instruct=_template(settings.instruct, "instruct", ("activation_regex", "name", "preset", "names_behavior")),
        context=_template(settings.context, "context", ("name", "preset")),
        reasoning=_template(settings.reasoning, "reasoning", ("name",)),
        sysprompt=traced_fields(
            settings.sysprompt, ("content", "post_history"), lambda name: FromPreset(prompt=f"sysprompt.{name}")
        ),
        user_prompt_bias=traced(settings.user_prompt_bias, FromTemplate(what="user_prompt_bias")),
    )


def _template(template: V, owner: str, without: Sequence[str]) -> V:
    names = (name for name in template.__struct_fields__ if name not in without)
    return traced_fields(template, names, lambda name: FromTemplate(what=f"{owner}.{name}"))
