"""Prompts on RisuAI's pipeline."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import lru_cache

from tavernkit import Built, Message, Variables, risuai
from tavernkit.errors import TokenBudgetExceeded
from tavernkit.hooks import BuildHooks
from tavernkit.lore.book import Book
from tavernkit.playground.base.llm.kinds import kind_of
from tavernkit.playground.story.lorebooks.queries import SameBook
from tavernkit.playground.story.paths.injections import injections_in
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.presets import ChosenPreset, budget_for
from tavernkit.prompt.trace import Instrumenter
from tavernkit.risuai import ReplyCleanup, RisuResult
from tavernkit.risuai.book_import import entries_from_book
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.memory import SAFETY_TOKENS, MemoryRequest, Recollection
from tavernkit.risuai.module import Module
from tavernkit.sillytavern import ReasoningSettings
from tavernkit.sillytavern.presets import ChatPreset, write_preset

MAIN_PROMPT = (
    "Write what {{char}} says and does next in this story with {{user}}. Stay in character, and leave it to {{user}} "
    "what {{user}} says and does."
)
"""Where nobody has chosen a preset."""


def build_on_risuai(
    inputs: PromptInputs,
    chosen: ChosenPreset,
    variables: Variables,
    hooks: BuildHooks,
    instrumenter: Instrumenter | None = None,
    *,
    is_traced: bool = False,
) -> Built[RisuResult]:
    """Build the prompt as RisuAI would; the chat's first message is the greeting already."""
    return risuai.build(
        story=risuai.Story(
            character=card_of(inputs),
            modules=_modules(inputs),
            greeting=None,
            note=inputs.settings.authors_note.text,
            lore=tuple(entry for book in lore_of(inputs) for entry in _entries(SameBook(book))),
            chat_id=str(inputs.chat_id),
            memory=KeptMemory(inputs.settings.prompt.memory) if inputs.settings.prompt.memory.strip() else None,
            cleanup=_cleanup(inputs, chosen),
        ),
        user=inputs.cast.user,
        history=_history(inputs),
        preset=_settings(inputs),
        keep_user_message=True,
        generation_type=inputs.generation_type,
        model=inputs.provider.model,
        estimator=inputs.estimator,
        variables=variables,
        injections=injections_in(inputs.injections, inputs.state),
        hooks=hooks,
        instrumenter=instrumenter,
        trace=is_traced,
        clock=lambda: inputs.now,
        rng=random.Random(inputs.seed),  # noqa: S311 - chance in a story, not a secret
    )


class KeptMemory:
    """A summary that somebody has written: it is told before the messages, of which the oldest make room for it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def recall(self, request: MemoryRequest) -> Recollection:
        tokens, covered = request.tokens + request.count(self._text) + SAFETY_TOKENS, 0
        while tokens > request.budget:
            if covered >= len(request.messages) - 1:
                advice = "Shorten the memory or the prompts, or raise the context size."
                raise TokenBudgetExceeded(budget=request.budget, actual=tokens, advice=advice)
            tokens -= request.messages[covered].tokens
            covered += 1
        return Recollection(text=self._text, covered=covered, state=request.state)


def _modules(inputs: PromptInputs) -> tuple[Module, ...]:
    modules = inputs.presets.modules
    return modules if inputs.settings.prompt.regex_scripts else tuple(one.with_(scripts=()) for one in modules)


def _cleanup(inputs: PromptInputs, chosen: ChosenPreset) -> ReplyCleanup:
    """What is done to a reply on either platform."""
    settings, group = chosen.settings, inputs.cast.group
    marks = settings.reasoning if settings.reasoning.auto_parse else ReasoningSettings()
    return ReplyCleanup(
        thoughts_prefix=marks.prefix,
        thoughts_suffix=marks.suffix,
        other_speakers=()
        if group is None or settings.disable_group_trimming
        else tuple(member.name for member in group.present),
        joint=chosen.preset.continue_postfix if isinstance(chosen.preset, ChatPreset) else "",
    )


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


def lore_of(inputs: PromptInputs) -> tuple[Book, ...]:
    """The lorebooks in the order in which the chat has their entries."""
    books = inputs.books
    return (*books.character, *books.chat, *books.persona, *books.everywhere)


def card_of(inputs: PromptInputs) -> RisuCharacter:
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


def _settings(inputs: PromptInputs) -> risuai.RisuSettings:
    """The preset: RisuAI's own, or one of SillyTavern's as RisuAI would take it over, for the model that answers."""
    provider, own = inputs.provider, inputs.presets.preset
    wanted: tuple[int | None, int | None]
    match own:
        case risuai.RisuSettings():
            settings, wanted = own, (own.max_context, own.max_response)
        case ChatPreset():
            settings = risuai.RisuSettings(template=risuai.convert_preset(write_preset(own)))
            wanted = (own.openai_max_context, own.openai_max_tokens)
        case _:
            settings, wanted = risuai.RisuSettings(main_prompt=MAIN_PROMPT), (None, None)
    context, reply = budget_for(inputs.settings.llm, provider, *wanted)
    return settings.with_(
        model=kind_of(provider).risu_model,
        max_context=context,
        max_response=reply,
        scripts=(*inputs.scripts.risuai, *settings.scripts) if inputs.settings.prompt.regex_scripts else (),
    )


@lru_cache(maxsize=64)
def _entries(same: SameBook) -> tuple[LoreEntry, ...]:
    """The entries of a lorebook as RisuAI imports them, once for each version of it."""
    return entries_from_book(same.book)
