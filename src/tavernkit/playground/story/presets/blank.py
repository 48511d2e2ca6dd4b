"""What a new preset of each kind has in its file."""

from __future__ import annotations

from typing import Final

from tavernkit.playground.story.presets.prompts import new_prompts
from tavernkit.playground.story.presets.queries import KINDS, MODULE, RISUAI
from tavernkit.risuai.files import write_module
from tavernkit.risuai.module import Module
from tavernkit.risuai.settings import PromptCard, RisuSettings, write_settings
from tavernkit.sillytavern.presets import (
    ChatPreset,
    Instruct,
    MasterExport,
    ReasoningTemplate,
    StartReplyWith,
    SystemPrompt,
    TextPreset,
    write_preset,
)
from tavernkit.sillytavern.settings import USUAL_CONTEXT
from tavernkit.values import Json

NEW_TEXT: Final = TextPreset(genamt=512, max_length=8192)
NEW_INSTRUCT: Final = Instruct(
    input_sequence="<|im_start|>user",
    input_suffix="<|im_end|>\n",
    output_sequence="<|im_start|>assistant",
    output_suffix="<|im_end|>\n",
    system_sequence="<|im_start|>system",
    system_suffix="<|im_end|>\n",
    story_string_prefix="<|im_start|>system",
    story_string_suffix="<|im_end|>\n",
    stop_sequence="<|im_end|>",
)
"""ChatML, which more models know than any other form."""
NEW_SYSTEM_PROMPT: Final = SystemPrompt(content="Write the next reply of {{char}} in this story with {{user}}.")
NEW_REASONING: Final = ReasoningTemplate(prefix="<think>\n", suffix="\n</think>", separator="\n\n")
NEW_EXPORT: Final = MasterExport(
    instruct=NEW_INSTRUCT,
    context=USUAL_CONTEXT,
    sysprompt=NEW_SYSTEM_PROMPT,
    preset=NEW_TEXT,
    reasoning=NEW_REASONING,
    srw=StartReplyWith(),
)
NEW_CARDS: Final = (
    PromptCard(type="plain", kind="main", text="Write the next reply of {{char}} in this story with {{user}}."),
    *(PromptCard(type=type) for type in ("description", "persona", "lorebook", "chat", "authornote")),
    PromptCard(type="plain", kind="globalNote"),
    PromptCard(type="postEverything"),
)


def plain_preset(kind: str) -> dict[str, Json]:
    """The file of a preset in which everything is the default of its platform."""
    if kind == MODULE:
        return write_module(Module())
    return {} if kind == RISUAI else write_preset(KINDS[kind]())


def blank_preset(kind: str) -> dict[str, Json]:
    """The file that somebody begins a preset with: prompts and templates that work, and defaults for all else."""
    match kind:
        case "chat":
            prompts, order = new_prompts()
            return write_preset(ChatPreset(prompts=prompts, prompt_order=order))
        case "text":
            return write_preset(NEW_TEXT)
        case "instruct":
            return write_preset(NEW_INSTRUCT)
        case "context":
            return write_preset(USUAL_CONTEXT)
        case "system_prompt":
            return write_preset(NEW_SYSTEM_PROMPT)
        case "reasoning":
            return write_preset(NEW_REASONING)
        case "master":
            return write_preset(NEW_EXPORT)
        case "module":
            return plain_preset(kind)
        case _:
            return write_settings(RisuSettings(template=NEW_CARDS))
