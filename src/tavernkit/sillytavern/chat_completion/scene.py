"""What the stages of chat completion prepare: the prompt manager's entries, the chat and the examples."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from tavernkit.presets import Preset
from tavernkit.prompt.block import Block
from tavernkit.sillytavern.errors import InvalidPresetError
from tavernkit.sillytavern.presets import ChatPreset
from tavernkit.sillytavern.scene import Scene
from tavernkit.sillytavern.story import Story
from tavernkit.text.js_strings import utf16_length
from tavernkit.values import Value

_LONGEST_NAME = 64
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_]")

MainSide: TypeAlias = Literal["start", "end"]

DIALECTS = {
    "claude": "anthropic",
    "makersuite": "google",
    "vertexai": "google",
    "cohere": "cohere",
    "ai21": "ai21",
    "mistralai": "mistral",
    "xai": "xai",
}
"""The dialects of the sources that a chat preset can be set to; all others speak OpenAI's."""


def chosen_dialect(preset: ChatPreset) -> str:
    """The format of the source that the preset is set to."""
    return DIALECTS.get(preset.chat_completion_source, "openai")


class PromptEntry(Value, frozen=True, kw_only=True):
    """One prompt of the prompt manager, or something that stands among them; `content` has its macros expanded.

    `in_chat` entries go into the chat at `depth`; `beside_main` ones before or after the main prompt. `is_custom` is a
    prompt that the user wrote, as opposed to one of SillyTavern's own.
    """

    identifier: str
    content: str = ""
    role: str = "system"
    in_chat: bool = False
    depth: int = 4
    order: int = 100
    is_custom: bool = False
    forbid_overrides: bool = False
    beside_main: MainSide | None = None


_NO_PRESET = ChatPreset()
"""What a scene has until it is given its preset."""


class ChatScene(Scene):
    """`entries` are in the order of the prompt; `chat` holds the history and what is injected into it, oldest first.

    `continued` is the message that the model is to go on with, once it has left the chat.
    """

    def __init__(self, story: Story) -> None:
        super().__init__(story, "chat")
        self.preset = _NO_PRESET
        self.disabled: frozenset[str] = frozenset()
        self.entries: list[PromptEntry] = []
        self.chat: list[Block] = []
        self.examples: list[Block] = []
        self.continued: Block | None = None

    def take_preset(self, preset: Preset) -> None:
        if not isinstance(preset, ChatPreset):
            raise InvalidPresetError(f"A chat completion needs a ChatPreset, not a {type(preset).__name__}.")
        self.preset = preset
        self.sends_tools = preset.function_calling
        self.dialect = chosen_dialect(preset)
        self.continue_postfix = preset.continue_postfix

    def entry(self, identifier: str) -> PromptEntry | None:
        return next((entry for entry in self.entries if entry.identifier == identifier), None)

    def put_entry(self, entry: PromptEntry) -> None:
        """Put an entry where the one of its name stands, or behind all of them."""
        for place, known in enumerate(self.entries):
            if known.identifier == entry.identifier:
                self.entries[place] = entry
                return
        self.entries.append(entry)


def sanitised_name(name: str) -> str:
    """The name with an underscore for each UTF-16 unit that is not allowed, cut where it is too long."""
    return _NOT_ALLOWED.sub(lambda found: "_" * utf16_length(found[0]), name)[:_LONGEST_NAME]
