"""Prompts on RisuAI's pipeline, and what their replies need of it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from tavernkit import Message, Plan, TokenEstimator, Variables, risuai
from tavernkit.hooks import BuildHooks
from tavernkit.lore.book import Book
from tavernkit.playground.prompting.inputs import PromptInputs
from tavernkit.playground.prompting.presets import budget_for
from tavernkit.playground.prompting.scenes import LoreVerdict, ReplyPart, Scripts
from tavernkit.prompt.tokens import default_estimator
from tavernkit.risuai.book_import import entries_from_book
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook import LorebookResult
from tavernkit.risuai.lorebook.decorators import read_decorators
from tavernkit.risuai.lorebook.verdicts import Reason
from tavernkit.risuai.scene import Scene
from tavernkit.sillytavern.presets import ChatPreset, write_preset
from tavernkit.sillytavern.world_info import TimedState

__all__ = ["RisuAIScene", "build_on_risuai"]

MAIN_PROMPT = (
    "Write what {{char}} says and does next in this story with {{user}}. Stay in character, and leave it to {{user}} "
    "what {{user}} says and does."
)
"""Where nobody has chosen a preset."""

_FAMILIES: Mapping[str, str] = {
    "openai": "reverse_proxy",
    "openai_text": "reverse_proxy",
    "embedded": "reverse_proxy",
    "anthropic": "claude",
    "google": "gemini",
}
"""What RisuAI calls the models of each kind of provider; how it joins messages depends on it."""


class RisuAIScene:
    """RisuAI's scene as replies and records see it."""

    def __init__(self, scene: Scene, lore: LorebookResult) -> None:
        self._scene = scene
        self._lore = lore

    def expand(self, text: str) -> str:
        return expand(text, self._scene)

    def scripts(self) -> Scripts:
        """RisuAI's scripts are run on the whole reply, when it is said."""

        def as_it_is(part: ReplyPart, text: str) -> str:  # noqa: ARG001 - the type's signature
            return text

        return as_it_is

    def lore(self) -> Sequence[LoreVerdict]:
        return [
            LoreVerdict(
                book="",
                entry=verdict.entry.id or str(verdict.index),
                name=verdict.entry.comment or verdict.entry.key,
                reason=Reason.ACTIVATED if verdict.is_activated else verdict.reason,
                sentence=str(verdict),
                content=read_decorators(verdict.entry.content).content,
            )
            for verdict in self._lore.verdicts
            if verdict.cause is not None or verdict.key is not None
        ]

    def timers(self) -> TimedState | None:
        return None

    def said(self, reply: str) -> str:
        return risuai.take_reply(self._scene, reply).text if reply else reply


def build_on_risuai(inputs: PromptInputs, variables: Variables, hooks: BuildHooks) -> tuple[Plan, RisuAIScene]:
    """Build the prompt as RisuAI would; the chat's first message is the greeting already."""
    character = _character(inputs)
    plan = risuai.build(
        story=risuai.Story(
            character=character,
            greeting=None,
            note=inputs.settings.authors_note.text,
            lore=tuple(
                entry
                for book in (
                    *inputs.books.character,
                    *inputs.books.chat,
                    *inputs.books.persona,
                    *inputs.books.everywhere,
                )
                for entry in _entries(_Same(book))
            ),
            chat_id=str(inputs.chat_id),
        ),
        user=inputs.cast.user,
        history=_history(inputs),
        preset=_settings(inputs),
        generation_type=inputs.generation_type,
        model=inputs.provider.model,
        variables=variables,
        estimator=_ForModel(default_estimator(), inputs.provider.model),
        hooks=hooks,
        clock=lambda: inputs.now,
        rng=random.Random(inputs.seed),  # noqa: S311 - chance in a story, not a secret
    )
    told = {key: value for key, value in plan.metadata.items() if key not in ("scene", "lore")}
    return plan.with_(metadata=told), RisuAIScene(plan.metadata["scene"], plan.metadata["lore"])


def _history(inputs: PromptInputs) -> Iterable[Message]:
    """The chat; in a group, what the other characters say is told with their names."""
    if inputs.cast.group is None:
        return inputs.history
    speaking = inputs.cast.character.name
    return [
        message.with_(content=f"{message.name}: {message.content}")
        if message.role == "assistant" and message.name not in (None, speaking)
        else message
        for message in inputs.history
    ]


def _character(inputs: PromptInputs) -> RisuCharacter:
    """The speaker as RisuAI imports the card, with what the story's settings say instead of it."""
    prompt, cast = inputs.settings.prompt, inputs.cast
    card = cast.character.with_(character_book=inputs.books.own)
    own = from_card(card, id=cast.avatar)
    return own.with_(
        scenario=prompt.scenario_override or own.scenario,
        example_message=prompt.examples_override or own.example_message,
        system_prompt=prompt.system_prompt_override or own.system_prompt,
        scripts=own.scripts if prompt.regex_scripts else (),
    )


def _settings(inputs: PromptInputs) -> risuai.Settings:
    """The preset: RisuAI's own, or one of SillyTavern's as RisuAI would take it over, for the model that answers."""
    provider, own = inputs.provider, inputs.presets.preset
    wanted: tuple[int | None, int | None]
    match own:
        case risuai.Settings():
            settings, wanted = own, (own.max_context, own.max_response)
        case ChatPreset():
            settings = risuai.Settings(template=risuai.convert_preset(write_preset(own)))
            wanted = (own.openai_max_context, own.openai_max_tokens)
        case _:
            settings, wanted = risuai.Settings(main_prompt=MAIN_PROMPT), (None, None)
    context, reply = budget_for(inputs.settings.llm, provider, *wanted)
    return settings.with_(
        model=_FAMILIES[provider.kind],
        max_context=context,
        max_response=reply,
        scripts=settings.scripts if inputs.settings.prompt.regex_scripts else (),
    )


class _Same:
    """A book that is equal to itself alone; as long as nobody changes a lorebook, it is the same book every time."""

    __slots__ = ("book",)

    def __init__(self, book: Book) -> None:
        self.book = book

    def __hash__(self) -> int:
        return id(self.book)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.book is self.book


@lru_cache(maxsize=64)
def _entries(same: _Same) -> tuple[LoreEntry, ...]:
    """The entries of a lorebook as RisuAI imports them, once for each version of it."""
    return entries_from_book(same.book)


class _ForModel:
    """Counts for one model, whatever the settings call it."""

    def __init__(self, estimator: TokenEstimator, model: str) -> None:
        self._estimator = estimator
        self._model = model

    def estimate(self, text: str, model_hint: str | None = None) -> int:  # noqa: ARG002 - the protocol's signature
        return self._estimator.estimate(text, self._model)
