"""What the markers among the prompts stand for: World Info, the card, the persona, the chat and the examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from tavernkit.dialects.speakers import EXAMPLE_ASSISTANT, EXAMPLE_USER
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.message import Attachment
from tavernkit.prompt.parts import filled, with_source_of
from tavernkit.prompt.tracing import labelled, traced
from tavernkit.sillytavern.chat_completion.scene import ChatScene, MainSide, PromptEntry, sanitised_name
from tavernkit.sillytavern.examples import spoken_lines
from tavernkit.sillytavern.extension_prompts import ExtensionPlace, ExtensionPrompt
from tavernkit.sillytavern.stages.chat import affordable_turns, tool_invocations
from tavernkit.sillytavern.stages.inputs import DEPTH_PROMPT
from tavernkit.sillytavern.stages.lore import AUTHORS_NOTE, PERSONA
from tavernkit.sillytavern.stages.tracing import of_message
from tavernkit.sillytavern.story import PersonaPosition
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.values import JsonObject

_KNOWN_EXTENSIONS = {
    "1_memory": "summary",
    AUTHORS_NOTE: "authorsNote",
    "3_vectors": "vectorsMemory",
    "4_vectors_data_bank": "vectorsDataBank",
    "chromadb": "smartContext",
}
"""Extensions with a place of their own among the prompts."""

CARD_FIELDS = {"charDescription": "description", "charPersonality": "personality", "scenario": "scenario"}
"""Of which fields of the card markers are."""

_SIDES: dict[ExtensionPlace, MainSide] = {"before": "start", "after": "end"}
_NOT_A_WORD = re.compile(r"[^A-Za-z0-9_]")
COMPLETION = 1
NO_RESULT = "[No content]"


def pinned_groups(ctx: Context) -> None:
    """Fill the markers, and let the card replace what it may."""
    scene = ctx.platform(ChatScene)
    for entry in _filled(ctx, scene):
        content = scene.watched(entry.identifier, partial(scene.expand, entry.content))
        scene.put_entry(_as_the_marker(scene, entry.with_(content=content)))
        if CARD_FIELDS.get(entry.identifier) in scene.changing:
            scene.changing.add(entry.identifier)
    settings = scene.story.settings
    if settings.prefer_character_prompt:
        _override(scene, "main", scene.card.system_prompt)
    if settings.prefer_character_jailbreak:
        _override(scene, "jailbreak", scene.card.post_history)


def history(ctx: Context) -> None:
    """Lay out the chat and the examples."""
    scene = ctx.platform(ChatScene)
    # Even what must be sent beside the chat is not counted yet: the application may still take it away.
    scene.affordable_turns = affordable_turns(ctx, scene, ctx.preset.max_prompt_tokens)
    scene.chat = list(_history_blocks(ctx, scene, scene.affordable_turns))
    if not scene.story.settings.strip_examples:
        _lay_out_examples(ctx, scene)
    if not len(ctx.history):
        ctx.greeting = str(scene.expand(ctx.require_character().first_mes)) or None


def _as_the_marker(scene: ChatScene, entry: PromptEntry) -> PromptEntry:
    """With the role and the place that the preset gives to what it stands for."""
    marker = scene.entry(entry.identifier)
    if marker is None:
        return entry
    return entry.with_(role=marker.role, in_chat=marker.in_chat, depth=marker.depth, order=marker.order)


def _filled(ctx: Context, scene: ChatScene) -> Iterator[PromptEntry]:
    preset, card, where = scene.preset, scene.card, scene.insertions
    yield PromptEntry(identifier="worldInfoBefore", content=_formatted_lore(preset.wi_format, where.before_character))
    yield PromptEntry(identifier="worldInfoAfter", content=_formatted_lore(preset.wi_format, where.after_character))
    yield PromptEntry(identifier="charDescription", content=card.description)
    yield PromptEntry(identifier="charPersonality", content=_formatted(preset.personality_format, card.personality))
    yield PromptEntry(identifier="scenario", content=_formatted(preset.scenario_format, card.scenario))
    yield PromptEntry(identifier="bias", content=scene.bias, role="assistant")
    for key, identifier in _KNOWN_EXTENSIONS.items():
        prompt = scene.extension_prompts.get(key)
        if prompt is not None and prompt.content:
            yield _beside_main(prompt, identifier)
    if scene.story.persona.position is PersonaPosition.IN_PROMPT and ctx.require_user().persona:
        yield PromptEntry(identifier="personaDescription", content=ctx.require_user().persona)
    for key, prompt in scene.extension_prompts.items():
        unknown = key not in _KNOWN_EXTENSIONS and key not in (PERSONA, DEPTH_PROMPT)
        if unknown and prompt.content and prompt.position in _SIDES:
            yield _beside_main(prompt, _NOT_A_WORD.sub("_", key))


def _formatted(template: str, text: str) -> str:
    """The template mentions the text by a macro; without a text there is nothing to mention."""
    return template if text and template else text


def _beside_main(prompt: ExtensionPrompt, identifier: str) -> PromptEntry:
    return PromptEntry(
        identifier=identifier,
        content=prompt.content,
        role=prompt.role,
        beside_main=_SIDES.get(prompt.position),
    )


def _formatted_lore(wi_format: str, text: str) -> str:
    if not text:
        return ""
    return filled(wi_format, "{0}", text) if wi_format.strip() else text


def _override(scene: ChatScene, identifier: str, text: str) -> None:
    """Put the card's text in the place of the preset's; `{{original}}` in it is what stood there."""
    entry = scene.entry(identifier)
    if not text or entry is None or entry.forbid_overrides or identifier in scene.disabled:
        return
    content = scene.watched(identifier, lambda: scene.expand(text, original=entry.content))
    scene.put_entry(entry.with_(content=content))


def _history_blocks(ctx: Context, scene: ChatScene, turns: Iterable[ChatTurn]) -> Iterator[Block]:
    must_keep = ctx.user_message if ctx.keep_user_message else None
    for turn in turns:
        invocations = tool_invocations(turn.metadata) if scene.sends_tools else []
        if invocations:
            yield from _tool_blocks(ctx, turn, invocations)
        else:
            yield _history_block(ctx, scene, turn, must_keep)


def _tool_blocks(ctx: Context, turn: ChatTurn, invocations: Sequence[JsonObject]) -> Iterator[Block]:
    """The calls in one message of the assistant, and each result in one of the tool's."""
    source = turn.source
    calls = [
        {
            "id": _text(call, "id"),
            "type": "function",
            "function": {"name": _text(call, "name"), "arguments": _text(call, "parameters")},
        }
        for call in invocations
    ]
    results = [
        ("tool", _text(call, "result") or NO_RESULT, {"tool_call_id": _text(call, "id")}) for call in invocations
    ]
    for role, content, metadata in (("assistant", "", {"tool_calls": calls}), *results):
        yield ctx.new_block(
            source=source,
            slot="history",
            role=role,
            content=traced(content, of_message(turn.index, turn.metadata, "tool result")) if ctx.is_traced else content,
            bundle=source,
            message_metadata=metadata,
            token_budget_group="history",
        )


def _text(call: JsonObject, key: str) -> str:
    value = call.get(key)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _history_block(ctx: Context, scene: ChatScene, turn: ChatTurn, must_keep: str | None) -> Block:
    role = str(turn.metadata.get("role", "")) or (
        "system" if turn.is_narrator else "user" if turn.is_user else "assistant"
    )
    text = turn.text
    if _tells_name(ctx, scene, turn):
        text = labelled(turn.name, text)
    if "\r" in text:
        text = text.replace("\r", "")
    if role == "user" and scene.preset.wrap_in_quotes:
        quote = scene.written('"', "wrap_in_quotes")
        text = quote + text + quote
    named = scene.preset.names_behavior == COMPLETION
    source = turn.source
    return ctx.new_block(
        source=source,
        slot="history",
        role=role,
        content=text,
        removable=source != must_keep,
        name=(sanitised_name(turn.name) or None) if named else None,
        attachments=_attachments(scene, turn),
        message_metadata=turn.metadata,
        token_budget_group="history",
    )


def _tells_name(ctx: Context, scene: ChatScene, turn: ChatTurn) -> bool:
    match scene.preset.names_behavior:
        case 0:
            foreign = scene.story.group is not None or (turn.force_avatar and not turn.is_narrator)
            return foreign and turn.name != ctx.require_user().name
        case 2:
            return not turn.is_narrator
        case _:
            return False


def _attachments(scene: ChatScene, turn: ChatTurn) -> tuple[Attachment, ...]:
    if not turn.attachments or not scene.preset.media_inlining:
        return ()
    quality = scene.preset.inline_image_quality
    return tuple(
        attachment.with_(detail=quality) if attachment.kind == "image" and attachment.detail is None else attachment
        for attachment in turn.attachments
    )


def _lay_out_examples(ctx: Context, scene: ChatScene) -> None:
    heading = scene.expand(scene.preset.new_example_chat_prompt)
    for number, dialogue in enumerate(scene.dialogues, start=1):
        bundle = f"example:{number}"
        parts = [
            ("new_example_chat", heading, None),
            *((bundle, *line) for line in _example_lines(ctx, scene, dialogue)),
        ]
        for source, text, speaker in parts:
            scene.examples.append(
                ctx.new_block(
                    source=source,
                    slot="new_example" if speaker is None else "example",
                    content=text,
                    name=speaker,
                    bundle=bundle,
                    token_budget_group="examples",
                )
            )


def _example_lines(ctx: Context, scene: ChatScene, dialogue: str) -> Iterator[tuple[str, str]]:
    """What is said and by which of the two; in a group names stay in the text, as any member may be the one."""
    group = scene.story.group
    for line in spoken_lines(
        dialogue,
        user_name=ctx.require_user().name,
        character_name=ctx.require_character().name,
        group=() if group is None else group.macro_group.members,
    ):
        text = line.text if group is None else labelled(line.name, line.text)
        yield with_source_of(text, dialogue), EXAMPLE_USER if line.is_user else EXAMPLE_ASSISTANT
