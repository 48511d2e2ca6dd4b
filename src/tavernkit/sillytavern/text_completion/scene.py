"""Everything a text prompt is made of."""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.sillytavern.extension_prompts import ExtensionPrompt
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.values import Value


class TextSpeakers(Value, frozen=True, kw_only=True):
    """Who takes part, and what their words are written with.

    `group` names the members of a group chat. `expand` expands what the templates of `settings` hold.
    """

    settings: UserSettings
    user_name: str
    character_name: str
    expand: Callable[[str], str]
    group: tuple[str, ...] | None = None
    generation_type: str = "normal"

    @property
    def with_instruct(self) -> bool:
        return bool(self.settings.instruct.enabled)

    @property
    def is_continue(self) -> bool:
        return self.generation_type == "continue"

    @property
    def is_impersonation(self) -> bool:
        return self.generation_type == "impersonate"


class TextScene(TextSpeakers, frozen=True, kw_only=True):
    """The inputs of one text prompt; macros are expanded in all of them but the templates of `settings`.

    `turns` are the messages that may be sent, oldest first: without the reply that a swipe or a regeneration replaces.
    `has_older` says that there are others before them, for which there is no room in any case. `chat_length` and
    `last_is_user` are of the whole chat, hidden messages counted. `dialogues` are the examples, those of World Info
    among them. `persona` is empty where the persona stands elsewhere.
    `count_tokens` counts a text.
    """

    count_tokens: Callable[[str], int]
    system_prompt: str = ""
    post_history: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    persona: str = ""
    world_info_before: str = ""
    world_info_after: str = ""
    dialogues: tuple[str, ...] = ()
    turns: tuple[ChatTurn, ...] = ()
    has_older: bool = False
    chat_length: int = 0
    last_is_user: bool = False
    extension_prompts: tuple[ExtensionPrompt, ...] = ()

    quiet_prompt: str = ""
    quiet_to_loud: bool = False
    quiet_name: str | None = None
    bias: str = ""

    max_context: int = 8192
    max_response: int = 0

    @property
    def budget(self) -> int:
        """How many tokens the prompt may have."""
        return self.max_context - self.max_response
