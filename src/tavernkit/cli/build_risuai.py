"""`tavernkit build --platform risuai`: RisuAI's files in, the request it would send out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tavernkit import dialects, example, risuai
from tavernkit.characters import Character
from tavernkit.cli.build_files import read_named_book, read_user
from tavernkit.cli.build_options import BuildOptions
from tavernkit.cli.build_report import BuiltRequest
from tavernkit.cli.conversation_file import LoadedChat, read_conversation
from tavernkit.cli.errors import UsageError
from tavernkit.cli.files import file_notes, read_noted, refuse_broken
from tavernkit.errors import StrictModeError
from tavernkit.prompt.build import BuildInputs
from tavernkit.reading import ImportReport
from tavernkit.risuai import RisuSettings, Story, unsent_prompts
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.errors import CBSError, DecoratorParseError, TriggerError
from tavernkit.risuai.files import load_character, read_module_file, read_preset_file
from tavernkit.risuai.module import Module


def build_risuai(options: BuildOptions) -> BuiltRequest:
    """Read the files and build the request. Without a card there is the example's story."""
    options.check_files()
    reports: list[ImportReport] = []
    character = _read_character(options.all_cards, reports)
    chat = _conversation(options, character)
    reports.append(chat.report)
    settings = _with_budget(_read_settings(options.preset or (), reports), options)
    dialect = options.dialect or settings.dialect
    dialects.get(dialect)
    story = Story(
        character=character,
        modules=tuple(read_noted(file, _module, reports) for file in options.module or ()),
        toggles=_toggles(options.toggle or ()),
        greeting=_greeting(options.greeting, chat),
        note=options.note or "",
        chat_id="" if options.history is None else options.history.stem,
    )
    inputs = BuildInputs(
        character=Character(name=character.name),
        user=read_user(options, chat),
        history=chat.messages,
        message=options.message,
        preset=settings,
        books=[read_named_book(file, reports) for file in options.lore or ()],
        generation_type=options.generation_type,
        model=options.model,
        clock=lambda: datetime.now(UTC).astimezone(),
        strict=options.strict,
        reports=reports,
    )
    if options.strict:
        refuse_broken(reports)
    try:
        built = risuai.build(story=story, trace=options.is_traced, **inputs)
    except (CBSError, DecoratorParseError, TriggerError) as error:
        # Only a strict build minds these, and what a strict build minds is a failed check.
        raise StrictModeError(str(error)) from error
    return BuiltRequest(
        plan=built.plan,
        explanation=built.explain() if options.is_traced else None,
        dialect=dialect,
        model=options.model or settings.model,
        completion="chat",
        generation_type=options.generation_type,
        messages=chat.messages,
        notes=file_notes(reports),
        unsent_prompts=unsent_prompts(settings, built) if options.explain else (),
    )


def _read_character(cards: tuple[Path, ...], reports: list[ImportReport]) -> RisuCharacter:
    if not cards:
        return from_card(example.character())
    if len(cards) > 1:
        raise UsageError("RisuAI prompts have one character. Give one --card.")
    return read_noted(cards[0], _character, reports)


def _character(data: bytes) -> tuple[RisuCharacter, ImportReport]:
    character, bundle = load_character(data)
    return character, bundle.report


def _module(data: bytes) -> tuple[Module, ImportReport]:
    found = read_module_file(data)
    return found.module, found.report


def _conversation(options: BuildOptions, character: RisuCharacter) -> LoadedChat:
    if options.history is not None:
        user_name = options.user or "User"
        return read_conversation(options.history, user_name=user_name, character_name=character.display_name)
    return LoadedChat() if options.all_cards else LoadedChat(messages=example.history())


def _read_settings(presets: Sequence[Path], reports: list[ImportReport]) -> RisuSettings:
    if not presets:
        return RisuSettings()
    if len(presets) > 1:
        raise UsageError("RisuAI uses one preset. Give one --preset.")
    return read_noted(presets[0], read_preset_file, reports)


def _with_budget(settings: RisuSettings, options: BuildOptions) -> RisuSettings:
    given = {"max_context": options.context, "max_response": options.reserve}
    return msgspec.structs.replace(settings, **{name: tokens for name, tokens in given.items() if tokens is not None})


def _toggles(given: Sequence[str]) -> Mapping[str, str]:
    """Switches written as `name=value`; a name alone is switched on."""
    pairs = (toggle.partition("=") for toggle in given)
    return {name: value if is_given else "1" for name, is_given, value in pairs}


def _greeting(wanted: int | None, chat: LoadedChat) -> int | None:
    """The greeting as RisuAI counts: -1 is the first message. A chat that begins with the character's words, as those
    of other applications do, needs none."""
    if wanted is not None:
        return wanted - 1
    return None if chat.messages and chat.messages[0].role == "assistant" else -1
