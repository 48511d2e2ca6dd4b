"""Master exports: several templates of text completion in one file."""

from __future__ import annotations

from tavernkit.sillytavern.presets.context import ContextTemplate
from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.sillytavern.presets.instruct import Instruct
from tavernkit.sillytavern.presets.reasoning import ReasoningTemplate
from tavernkit.sillytavern.presets.system_prompt import SystemPrompt
from tavernkit.sillytavern.presets.text import TextPreset


class StartReplyWith(PresetFile, frozen=True, kw_only=True):
    """The words a reply begins with, and whether the reader sees them."""

    value: str = ""
    show: bool = False


class MasterExport(PresetFile, frozen=True, kw_only=True):
    """A master export. Each part may be missing; one that is no object is noted, and is written back all the same."""

    instruct: Instruct | None = None
    context: ContextTemplate | None = None
    sysprompt: SystemPrompt | None = None
    preset: TextPreset | None = None
    reasoning: ReasoningTemplate | None = None
    srw: StartReplyWith | None = None
