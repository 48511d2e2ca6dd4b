"""The workbench of SillyTavern's stages: what they have prepared so far, and how a text's macros are expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Literal, TypeAlias

from tavernkit.presets import Preset
from tavernkit.prompt.parts import Insert, SourcedText, carried
from tavernkit.prompt.sources import FromTemplate
from tavernkit.prompt.tracing import traced
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt
from tavernkit.sillytavern.layout import FrozenLore, Touched
from tavernkit.sillytavern.macros.engine import macro_engine
from tavernkit.sillytavern.macros.environment import DynamicMacro, Environment
from tavernkit.sillytavern.macros.problems import PlacedProblems
from tavernkit.sillytavern.regex_scripts import Expand, macro_expander
from tavernkit.sillytavern.story import Story
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.sillytavern.world_info import Insertions, WorldInfo, WorldInfoResult
from tavernkit.sillytavern.world_info.fields import WorldEntry
from tavernkit.values import Value

Api: TypeAlias = Literal["chat", "text"]

_LORE_MACROS = re.compile(r"\{\{\s*(?:outlet\s*::?\s*([^{}]*?)|original)\s*\}\}", re.IGNORECASE)


class CardTexts(Value, frozen=True, kw_only=True):
    """The character and the user in words, macros expanded; in a group, the members' cards may be joined in them."""

    persona: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    examples: str = ""
    system_prompt: str = ""
    post_history: str = ""
    depth_prompt: str = ""
    creator_notes: str = ""


class Scene:
    """Attached to the build's Context; each stage reads what earlier ones have put here and adds its own.

    `turns` are the messages that may be sent, oldest first; a long chat is not read as a whole, only the newest
    `messages_read` messages, whose thoughts have gone back to the model `thoughts_returned` times. `affordable_turns`
    are the newest turns, up to the first that cannot fit. `dialogues` are the examples, without their marks.
    `note_is_due` says whether the author's note and what stands around it is sent, `sends_tools` whether calls of tools
    in the chat are sent as such. `dialect` is the format of the provider, and `continue_postfix` stands between a
    message and the reply that continues it. In a traced build (`is_traced`), `plain` are the story and the environment
    with texts that know nothing of where they come from, as the result of the build has them. `changing` names
    the texts whose macros have asked for the time, for chance or for the chat. `frozen` is the lore that has its place
    in the chat, `known_lore` the entries of that of earlier turns, `layout_state` what is left for the next turn.
    """

    def __init__(self, story: Story, api: Api) -> None:
        self.story = story
        self.api: Api = api
        self.sends_tools = False
        self.dialect = "text"
        self.continue_postfix = ""
        self.is_traced = False
        self.environment = Environment()
        self.plain: tuple[Story, Environment] | None = None
        self.on_problem: PlacedProblems | None = None
        self.card = CardTexts()
        self.turns: tuple[ChatTurn, ...] = ()
        self.messages_read = 0
        self.thoughts_returned = 0
        self.affordable_turns: tuple[ChatTurn, ...] = ()
        self.bias = ""
        self.dialogues: tuple[str, ...] = ()
        self.note_is_due = False
        self.extension_prompts: dict[str, ExtensionPrompt] = {}
        self.world: WorldInfoResult | None = None
        self.insertions = Insertions()
        self.outlets: Mapping[str, str] = {}
        self.touched = Touched()
        self.changing: set[str] = set()
        self.known_lore: Mapping[str, WorldEntry] = {}
        self.frozen: list[FrozenLore] = []
        self.layout_state = story.layout_state

    def watched(self, name: str, expand: Callable[[], str]) -> str:
        """Expand something, and note under this name if it may become another text in the next turn."""
        before = self.touched.count
        text = expand()
        if self.touched.count != before:
            self.changing.add(name)
        return text

    def take_preset(self, preset: Preset) -> None:
        """Read the preset once the application's hooks have had their say; a kind of completion looks at its own."""

    def least_wording(self) -> Callable[[ChatTurn], str]:
        """How to find out what is sent of a turn at least, so that it is counted as it will be counted again."""
        return lambda turn: turn.text

    def written(self, text: str, what: str) -> str:
        """What the platform itself writes, which in a traced build says so."""
        return traced(text, FromTemplate(what=what)) if self.is_traced else text

    def put(self, prompt: ExtensionPrompt) -> None:
        """Add an extension's text, in place of what had its key."""
        self.extension_prompts[prompt.key] = prompt

    def expand(
        self,
        text: str,
        *,
        original: str | None = None,
        dynamic: Mapping[str, DynamicMacro] | None = None,
        quietly: bool = False,
        place: str = "",
    ) -> str:
        """Expand a text's macros. `quietly` is for what people have said: a stray brace there is nobody's mistake.
        `place` is what warnings call the text, if it stands in one place."""
        if not may_have_macros(text):
            return text
        environment = self.environment
        if original is not None or dynamic:
            environment = environment.with_(original=original, dynamic_macros=dynamic or {})
        expanded = self._expanded(text, environment, quietly=quietly, place=place)
        if self.outlets or isinstance(text, SourcedText):
            return carried(text, expanded, self._inserts(text, original))
        return expanded

    def _inserts(self, text: str, original: str | None) -> Iterator[Insert]:
        """The texts with lore that macros put in."""
        for macro in _LORE_MACROS.finditer(text) if self.outlets else ():
            told = original if macro[1] is None else self.outlets.get(macro[1])
            yield Insert(macro.start(), macro.end(), told or "")

    @property
    def detached_expand(self) -> Callable[[str, str], str]:
        """`expand` for what may outlive the build: it does not keep the scene, and with it the whole build, alive."""
        engine, environment, tell = shared_macros(self.story.macros), self.environment, self.on_problem

        def expand(text: str, place: str) -> str:
            if not may_have_macros(text):
                return text
            on_problem = None if tell is None else partial(tell, text=text, place=place)
            return engine.expand(text, environment, on_problem=on_problem)

        return expand

    def expand_card(self, text: str, name: str, *, quietly: bool = False) -> str:
        """Expand a text of the card of the character with this name: the card's own macros are empty in it."""
        environment = self.environment.for_card_text().with_(character_name=name)
        return environment.tidied(self._expanded(text, environment, quietly=quietly))

    @property
    def expand_in_scripts(self) -> Expand:
        """How regex scripts expand macros."""
        return macro_expander(shared_macros(self.story.macros), self.environment)

    def _expanded(self, text: str, environment: Environment, *, quietly: bool, place: str = "") -> str:
        engine, tell = shared_macros(self.story.macros), self.on_problem
        on_problem = None if quietly or tell is None else partial(tell, text=text, place=place)
        return engine.expand(text, environment, on_problem=on_problem)


def may_have_macros(text: str) -> bool:
    """Whether a text has anything that expanding could change."""
    return "{{" in text or "<" in text or "\\" in text


shared_macros = cache(macro_engine)
"""One engine of a kind for the whole process, so that templates that have been parsed once stay so."""

shared_world_info = cache(WorldInfo)
"""One lore engine for the whole process: what it has learnt about a book serves every build."""
