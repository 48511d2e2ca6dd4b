"""The story string: the character, the user and the world in one text."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.sillytavern.extension_prompts import ExtensionPrompt, extension_role, extension_text
from tavernkit.sillytavern.presets.templates import fill_name
from tavernkit.sillytavern.text_completion.scene import TextScene
from tavernkit.sillytavern.text_completion.story_template import render_story
from tavernkit.text.js_strings import js_trim

STORY_STRING = "__STORY_STRING__"
"""The key of a story string that stands in the chat, which decides its order among others at its depth."""

IN_CHAT = 1


def story_string(scene: TextScene, *, examples: Sequence[str], raw_examples: Sequence[str]) -> str:
    """The rendered template, in its sequences if it stands on top of an instruct prompt."""
    context, instruct = scene.settings.context, scene.settings.instruct
    values = {
        "description": scene.description,
        "personality": scene.personality,
        "persona": scene.persona,
        "scenario": scene.scenario,
        "system": scene.system_prompt,
        "char": scene.character_name,
        "user": scene.user_name,
        "wiBefore": scene.world_info_before,
        "wiAfter": scene.world_info_after,
        "loreBefore": scene.world_info_before,
        "loreAfter": scene.world_info_after,
        "anchorBefore": js_trim(extension_text(scene.extension_prompts, "before")),
        "anchorAfter": js_trim(extension_text(scene.extension_prompts, "after")),
        "mesExamples": "".join(examples),
        "mesExamplesRaw": "".join(raw_examples),
    }
    story = scene.expand(render_story(context.story_string, values, scene.expand)).lstrip("\n")
    if not story or context.story_string_position == IN_CHAT:
        return story
    ends_line = not scene.with_instruct or (instruct.wrap and not instruct.story_string_suffix)
    if ends_line and not story.endswith("\n"):
        story += "\n"
    if not scene.with_instruct:
        return story
    if instruct.story_string_prefix:
        prefix = fill_name(scene.expand(instruct.story_string_prefix), "System")
        story = f"{prefix}{instruct.line_break}{story}"
    return story + scene.expand(instruct.story_string_suffix)


def story_in_chat(scene: TextScene, story: str) -> ExtensionPrompt | None:
    """The story string as something to put into the chat, if that is its place."""
    context = scene.settings.context
    if context.story_string_position != IN_CHAT:
        return None
    return ExtensionPrompt(
        key=STORY_STRING,
        content=story,
        position="chat",
        depth=context.story_string_depth,
        role=extension_role(context.story_string_role),
    )
