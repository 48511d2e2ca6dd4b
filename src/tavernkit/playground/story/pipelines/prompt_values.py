"""What templates know of the prompt that the story's model is asked with: its lore and its system prompt.

Building a prompt is work, and nothing but steps that read it needs it before the reply: it is done for those alone.
"""

from __future__ import annotations

from tavernkit.artifacts.content import write_json
from tavernkit.artifacts.pipelines import Profile, PythonStep, write_profile
from tavernkit.artifacts.sections import system_text
from tavernkit.playground.story.prompting.building import build_prompt
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.values import Json

WORLD_INFO, PROMPT_SYSTEM = "worldInfo", "promptSystem"
LORE_STAGE = "lore"


def prompt_values(inputs: PromptInputs, profile: Profile) -> dict[str, Json]:
    """`worldInfo` and `promptSystem`, as the prompt has them before any step has changed it; nothing if no step of the
    profile reads them."""
    if not _is_read(profile):
        return {}
    prompt = build_prompt(inputs)
    activated: list[Json] = [
        {"name": verdict.name, "book": verdict.book, "content": verdict.content}
        for verdict in prompt.built.result.lore
        if verdict.is_activated
    ]
    warnings: list[Json] = [warning.message for warning in prompt.plan.warnings if warning.stage == LORE_STAGE]
    return {
        WORLD_INFO: {"activatedCount": len(activated), "activatedEntries": activated, "warnings": warnings},
        PROMPT_SYSTEM: system_text(prompt.plan.enabled_blocks),
    }


def _is_read(profile: Profile) -> bool:
    """Whether a step names one of them, or calls a function, which may read anything."""
    if any(isinstance(step, PythonStep) for pipeline in profile.pipelines for step in pipeline.steps):
        return True
    text = write_json(write_profile(profile))
    return WORLD_INFO in text or PROMPT_SYSTEM in text
