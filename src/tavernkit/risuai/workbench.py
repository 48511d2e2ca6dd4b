"""What the stages of a RisuAI build work on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tavernkit.errors import MissingInputError
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.message import Message
from tavernkit.prompt.parts import SourcedText, TracedText, carried
from tavernkit.prompt.sources import AnySource, FromCard, FromPreset, FromTemplate
from tavernkit.prompt.tokens import attachment_tokens
from tavernkit.prompt.tracing import expanded_by_passes, traced
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.errors import CBSError
from tavernkit.risuai.lorebook.result import ActiveLore, LorebookResult
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import PromptCard, RisuSettings
from tavernkit.risuai.story import Story
from tavernkit.risuai.template.line import Line
from tavernkit.risuai.template.positions import Positions
from tavernkit.text.time_budget import TimeBudget

PARTS = (
    "main",
    "jailbreak",
    "chats",
    "lorebook",
    "globalNote",
    "authorNote",
    "lastChat",
    "description",
    "postEverything",
    "personaPrompt",
)
"""The parts of a prompt by RisuAI's names, in the order in which it counts them."""

SCRIPT_SECONDS = 5.0
"""What the regex scripts of one build may take together."""


class Workbench:
    """The scene, and the prompt in its making.

    `parts` holds the lines by the names that the order of the settings uses. `cards` is the template, None for the
    older way; `has_template` says whether the settings have one, which a utility character may put aside. `said` are
    the sources of messages by their ids, and in a traced build `trails` their texts, which know theirs. `chats` are the
    lines of the chat, `left_out` those that have no room (and `evicted` their blocks), `summed_up` those for which
    `memories` are told. `tokens` is what the prompt will cost, as far as it is known, and `formed_tokens` what it costs
    when it stands.
    """

    def __init__(self, story: Story, settings: RisuSettings) -> None:
        self.story = story
        self.settings = settings
        self.scene: RisuScene
        self.cards: tuple[PromptCard, ...] | None = None
        self.parts: dict[str, list[Line]] = {name: [] for name in PARTS}
        self.positions = Positions(())
        self.lore: LorebookResult | None = None
        self.depth_lore: list[ActiveLore] = []
        self.said: dict[str, tuple[str, Message]] = {}
        self.trails: dict[str, str] = {}
        self.trigger_prompts: dict[str, str] = {}
        self.script_time = TimeBudget(SCRIPT_SECONDS)
        self.chats: list[Line] = []
        self.left_out: list[Line] = []
        self.summed_up: list[Line] = []
        self.memories: list[Line] = []
        self.evicted: frozenset[str] = frozenset()
        self.tokens = 0
        self.formed_tokens = 0

    @property
    def character(self) -> RisuCharacter:
        """The character as triggers have left it."""
        character = self.scene.character
        if character is None:
            raise MissingInputError("a prompt needs a character: pass character=…")
        return character

    @property
    def has_template(self) -> bool:
        return self.settings.template is not None

    @property
    def is_gpt(self) -> bool:
        return self.settings.model.startswith("gpt")

    @property
    def around(self) -> int:
        """What is counted for a message beside its text."""
        return 5 if self.is_gpt else 3

    def expand(self, ctx: Context, text: str, **options: Any) -> str:
        """The text with its macros expanded; what a strict build minds ends it, unless somebody has said it."""
        is_strict = ctx.strict and not options.get("quietly", False)
        try:
            expanded = expand(text, self.scene, CBSOptions(strict=is_strict, **options))
        except CBSError as error:
            ctx.fail(error)
        if ctx.is_traced:
            expanded = expanded_by_passes(text, expanded)
        return carried(text, expanded) if isinstance(text, SourcedText) else expanded

    def marked(self, ctx: Context, text: str, source: AnySource) -> str:
        """The text, which in a traced build says where it comes from."""
        return traced(text, source) if ctx.is_traced and not isinstance(text, TracedText) else text

    def written(self, ctx: Context, text: str, what: str) -> str:
        """What the platform itself writes."""
        return traced(text, FromTemplate(what=what)) if ctx.is_traced else text

    def from_card(self, ctx: Context, field: str) -> str:
        """A text of the character."""
        text: str = getattr(self.character, field)
        return self.marked(ctx, text, self.of_card(ctx, field)) if ctx.is_traced else text

    def from_settings(self, ctx: Context, field: str) -> str:
        """A text of the settings."""
        text: str = getattr(self.settings, field)
        return traced(text, FromPreset(prompt=field)) if ctx.is_traced else text

    def of_card(self, ctx: Context, field: str) -> FromCard:
        """A field of the character as a source."""
        version = "" if ctx.character is None else ctx.character.character_version
        return FromCard(character=self.character.name, field=field, version=version)

    def line(self, ctx: Context, role: str, content: str, source: str, **fields: Any) -> Line:
        """A line that knows which stage made it; its slot is the first word of its source unless one is given."""
        slot = fields.pop("slot", None) or source.partition(":")[0]
        return Line(role=role, content=content, source=source, slot=slot, stage=ctx.current_stage, **fields)

    def cost(self, line: Line | Block) -> int:
        """What a message costs as RisuAI counts it, with what the provider puts around it."""
        count = self.scene.count_tokens
        total = count(line.content) + self.around
        if line.name and not self.is_gpt:
            total += count(line.name) + 1
        return total + sum(map(attachment_tokens, line.attachments))

    def costs(self, lines: Iterable[Line]) -> int:
        return sum(map(self.cost, lines))

    def block(self, ctx: Context, line: Line, bundle: str | None = None) -> Block:
        """The line as a block of the prompt; what shares a bundle goes together."""
        metadata = {
            "parts": list(line.parts),
            "title": line.title,
            "left_out": line.left_out,
            "thoughts": list(line.thoughts),
            "cache_point": line.is_cache_point,
        }
        return ctx.new_block(
            source=line.source,
            stage=line.stage,
            metadata={key: value for key, value in metadata.items() if value},
            role=line.role,
            content=line.content,
            name=line.name,
            slot=line.slot,
            removable=line.removable,
            priority=line.priority,
            bundle=bundle,
            token_budget_group=line.group,
            attachments=line.attachments,
            message_metadata=line.message_metadata,
        )


def left_out(block: Block, reason: str) -> Block:
    """The block, no longer told."""
    return block.with_(enabled=False, metadata={**block.metadata, "left_out": reason})
