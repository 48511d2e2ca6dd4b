"""The inputs of a traced build, each text of which says where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tavernkit.characters.character import Character
from tavernkit.prompt.context import Context
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
from tavernkit.prompt.parts import TracedText
from tavernkit.prompt.tracing import traced, traced_fields, with_reason
from tavernkit.sillytavern.presets import ChatPreset
from tavernkit.sillytavern.scene import Scene
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.story import Story
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.sillytavern.world_info import Source, WorldInfoResult
from tavernkit.sillytavern.world_info.fields import WorldEntry
from tavernkit.sillytavern.world_info.result import ActivatedEntry
from tavernkit.values import JsonObject, Value

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
    ctx.user = traced_fields(user, ("persona",), lambda _: FromPersona(user=user.name))
    ctx.message = traced(ctx.message, FromHistory(message=len(ctx.history)))
    if isinstance(ctx.preset, ChatPreset):
        ctx.preset = traced_fields(ctx.preset, _PRESET_FIELDS, lambda name: FromPreset(prompt=name)).with_(
            prompts=tuple(
                traced_fields(prompt, ("content",), lambda _: FromPreset(prompt=prompt.identifier, name=prompt.name))
                for prompt in ctx.preset.prompts
            )
        )
    scene.story = _story(scene.story)
    scene.take_preset(ctx.preset)


def said_in(turn: ChatTurn) -> ChatTurn:
    """A message of the chat that says which one it is."""
    if isinstance(turn.text, TracedText):
        return turn
    source = of_message(turn.index, turn.metadata)
    return turn.with_(text=traced(turn.text, source), bias=traced(turn.bias, source.with_(part="bias")))


def of_message(index: int, metadata: JsonObject, part: str = "") -> FromHistory:
    """A message of the chat, or a part of it, as a source."""
    swipe = metadata.get("swipe_id")
    return FromHistory(message=index, swipe=swipe if isinstance(swipe, int) else None, part=part)


def of_entry(content: str, entry: WorldEntry) -> str:
    """The content of an entry that says which one it is; why it is there is not known yet."""
    return content if isinstance(content, TracedText) else traced(content, _entry(entry))


def with_reasons(scene: Scene, result: WorldInfoResult) -> WorldInfoResult:
    """What has woken up, with the keys that did it, and where they stood."""
    return result.with_(
        activations=tuple(
            activation.with_(content=_with_reason(scene, result.activations, activation))
            for activation in result.activations
        )
    )


def _with_reason(scene: Scene, all: Sequence[ActivatedEntry], activation: ActivatedEntry) -> str:
    verdict, found = activation.verdict, _found(scene, all, activation)
    known = _entry(activation.entry).with_(cause=verdict.lore_cause, key=verdict.key, found=found)
    return with_reason(activation.content, known)


def _entry(entry: WorldEntry) -> FromLore:
    source = entry.source
    return FromLore(book=entry.world, entry=source.id, name=source.name or source.comment)


def _found(scene: Scene, all: Sequence[ActivatedEntry], activation: ActivatedEntry) -> KeyFound | None:
    place, key = activation.verdict.place, activation.verdict.key
    if place is None or key is None:
        return None
    if place.message is not None and place.message < len(scene.turns):
        turn = scene.turns[-1 - place.message]
        offset = turn.text.lower().find(key.lower())
        return KeyFound(message=turn.index, offset=offset if offset >= 0 else None)
    if place.source == Source.RECURSION:
        for other in all:
            if other is not activation and key.lower() in other.content.lower():
                return KeyFound(entry=other.entry.source.id, book=other.entry.world)
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
    changes: dict[str, object] = {
        "settings": _settings(story.settings),
        "note": traced_fields(story.note, ("text",), lambda _: FromChat(field="note")),
        "extension_prompts": tuple(
            traced_fields(prompt, ("content",), lambda _: FromInjection(id=prompt.key))
            for prompt in story.extension_prompts
        ),
    }
    if story.character_note is not None:
        changes["character_note"] = traced_fields(
            story.character_note, ("text",), lambda _: FromChat(field="character_note")
        )
    if story.quiet is not None:
        changes["quiet"] = traced_fields(story.quiet, ("text",), lambda _: FromChat(field="quiet_prompt"))
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


def _template(template: Value, owner: str, without: Sequence[str]) -> Value:
    names = (name for name in template.__struct_fields__ if name not in without)
    return traced_fields(template, names, lambda name: FromTemplate(what=f"{owner}.{name}"))
