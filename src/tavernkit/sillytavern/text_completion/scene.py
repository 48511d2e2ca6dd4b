"""Everything a text prompt is made of, and its pieces, each of which knows where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from tavernkit.prompt.sources import FromTemplate
from tavernkit.prompt.tracing import traced
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt, ExtensionRole
from tavernkit.sillytavern.layout import FrozenLore
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.values import Value

LeftOut: TypeAlias = Literal["budget", "behind", "stripped"]
"""Why a piece is not in the prompt: it did not fit, it comes behind one that did not fit, or examples are not sent."""


class TextPiece(Value, frozen=True, kw_only=True):
    """One stretch of the prompt, or one that was left out of it.

    `source` is `story_string`, `example:N`, `chat_start`, `alignment`, `message:INDEX`, `injection:KEY`,
    `post_history`, `quiet_prompt`, `last_line` or `bias`; texts that share a place in the chat are one piece, with
    their keys joined by `+`. `tokens` is None for what nobody had to count. A message behind one that did not fit was
    never written as it would stand in the prompt: its `text` is its own.
    """

    text: str
    source: str
    role: ExtensionRole = "system"
    kept: bool = True
    tokens: int | None = None
    reason: LeftOut | None = None


class TextPrompt(Value, frozen=True, kw_only=True):
    """The pieces in the order of the prompt.

    `mandatory_tokens` is what has to be there whatever else is, padding included. If it is not below `budget`, no
    message has found a place.
    """

    pieces: tuple[TextPiece, ...]
    budget: int
    mandatory_tokens: int

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces if piece.kept)

    @property
    def left_out(self) -> tuple[TextPiece, ...]:
        return tuple(piece for piece in self.pieces if not piece.kept)

    @property
    def exceeds_budget(self) -> bool:
        """True when what has to be there leaves no room for anything else."""
        return self.mandatory_tokens >= self.budget


class TextSpeakers(Value, frozen=True, kw_only=True):
    """Who takes part, and what their words are written with.

    `group` names the members of a group chat. `expand` expands what the templates of `settings` hold. In a traced build
    (`is_traced`) texts know where they come from.
    """

    settings: UserSettings
    user_name: str
    character_name: str
    expand: Callable[[str], str]
    group: tuple[str, ...] | None = None
    generation_type: str = "normal"
    is_traced: bool = False

    def written(self, text: str, what: str) -> str:
        """What the platform itself writes, which in a traced build says so."""
        return traced(text, FromTemplate(what=what)) if self.is_traced else text

    @property
    def line_break(self) -> str:
        """What stands between an instruct sequence and the message beside it."""
        return self.written(self.settings.instruct.line_break, "instruct.wrap")

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
    `kept` is the source of a message that gets its share of the budget before all others. `frozen` is the lore that has
    its place in the chat. `count_tokens` counts a text.
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
    kept: str | None = None
    chat_length: int = 0
    last_is_user: bool = False
    extension_prompts: tuple[ExtensionPrompt, ...] = ()
    frozen: tuple[FrozenLore, ...] = ()

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
