"""`tavernkit build` for SillyTavern: its files in, the request it would send out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tavernkit import dialects, example, sillytavern
from tavernkit.cli.build_files import read_named_book, read_user
from tavernkit.cli.build_options import BuildOptions
from tavernkit.cli.build_report import BuiltRequest
from tavernkit.cli.cast_files import CastFiles, in_group, read_cast
from tavernkit.cli.conversation_file import LoadedChat, read_conversation
from tavernkit.cli.errors import FileError, UsageError, display_name
from tavernkit.cli.files import file_notes, read_noted, refuse_broken
from tavernkit.cli.preset_files import read_setup
from tavernkit.cli.settings_file import SettingsFile, read_settings_file
from tavernkit.errors import StrictModeError
from tavernkit.macros import Variables
from tavernkit.prompt.build import BuildInputs
from tavernkit.prompt.built import Built
from tavernkit.reading import ImportReport
from tavernkit.sillytavern import AuthorsNote, QuietPrompt, SillyTavernResult, Story, unsent_prompts, with_templates
from tavernkit.sillytavern.chat_completion.request import chosen_model
from tavernkit.sillytavern.chat_completion.scene import chosen_dialect
from tavernkit.sillytavern.errors import InvalidContextTemplateError, MacroError
from tavernkit.sillytavern.presets import ChatPreset, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScripts, embedded_scripts, read_regex_scripts


class PreparedBuild(NamedTuple):
    """The files, put together as SillyTavern would have them."""

    story: Story
    inputs: BuildInputs
    preset: ChatPreset | TextPreset
    dialect: str
    context_file: str
    chat: LoadedChat
    reports: Sequence[ImportReport]


def build_sillytavern(options: BuildOptions) -> BuiltRequest:
    """Read the files, and build the request."""
    prepared = prepare_sillytavern(options)
    built = build_prepared(prepared, trace=options.is_traced)
    preset = prepared.preset
    return BuiltRequest(
        plan=built.plan,
        explanation=built.explain() if options.is_traced else None,
        dialect=prepared.dialect,
        model=prepared.inputs["model"],
        completion="chat" if isinstance(preset, ChatPreset) else "text",
        generation_type=options.generation_type,
        messages=prepared.chat.messages,
        notes=file_notes(prepared.reports),
        unsent_prompts=unsent_prompts(preset, built) if options.explain and isinstance(preset, ChatPreset) else (),
    )


def prepare_sillytavern(options: BuildOptions) -> PreparedBuild:
    """Read the files, put together as SillyTavern would have them.

    Without a card there is the example's story; without a chat, a new one with its greeting.
    """
    if options.quiet_prompt is not None and options.generation_type != "quiet":
        raise UsageError("--quiet-prompt needs --type quiet.")
    options.check_files()
    cast = read_cast(options.all_cards, options.speaker)
    setup = read_setup(tuple(options.preset or ()), instruct=options.instruct, context=options.context_template)
    settings = SettingsFile() if options.settings is None else read_settings_file(options.settings)
    chat = _conversation(options, cast, options.user or settings.user_name or "User")
    cast = in_group(cast, options.group, chat.metadata)
    reports = [*cast.reports, *setup.reports, settings.report, chat.report]
    books = [(_home(file, cast, chat, settings), read_named_book(file, reports)) for file in options.lore or ()]
    own = tuple(script for file in options.regex or () for script in read_noted(file, read_regex_scripts, reports))
    if options.strict:
        refuse_broken(reports)
    preset = setup.preset or _usual_preset(settings, is_for_text=setup.is_for_text)
    preset = _with_budget(preset, options.context, options.reserve)
    story = with_templates(chat.in_story(settings.story), setup.templates)
    story = story.with_(
        note=_note(story.note, options),
        quiet=None if options.quiet_prompt is None else QuietPrompt(text=options.quiet_prompt),
        character_note=settings.character_notes.get(cast.character_file),
        group=cast.group,
        speaker=None if cast.group is None else cast.speaker.avatar,
        regex_scripts=RegexScripts(
            global_=(*story.regex_scripts.global_, *own),
            preset=embedded_scripts(preset.extensions),
            scoped=embedded_scripts(cast.character.extensions),
        ),
        character_books=tuple(book for home, book in books if home == "character"),
        chat_books=tuple(book for home, book in books if home == "chat"),
        persona_books=tuple(book for home, book in books if home == "persona"),
        character_file=cast.character_file,
        chat_id="" if options.history is None else options.history.stem,
        zone=datetime.now(UTC).astimezone().tzinfo or UTC,
    )
    model = options.model or _model(preset)
    dialect = _dialect(options.dialect, preset)
    inputs = BuildInputs(
        character=cast.character,
        user=read_user(options, chat, name=settings.user_name, persona=settings.persona),
        history=chat.messages,
        message=options.message,
        preset=preset,
        books=[book for home, book in books if home is None],
        generation_type=options.generation_type,
        model=model,
        variables=Variables(local=chat.variables, global_=settings.variables),
        strict=options.strict,
        reports=reports,
    )
    context_file = setup.context_file or ("" if options.settings is None else display_name(options.settings))
    return PreparedBuild(story, inputs, preset, dialect, context_file, chat, reports)


def _usual_preset(settings: SettingsFile, *, is_for_text: bool) -> ChatPreset | TextPreset:
    """The preset of the settings, unless the templates that were named are for the other kind of completion."""
    if is_for_text:
        return settings.preset if isinstance(settings.preset, TextPreset) else TextPreset()
    return settings.preset or ChatPreset()


def _conversation(options: BuildOptions, cast: CastFiles, user_name: str) -> LoadedChat:
    if options.history is not None:
        return read_conversation(options.history, user_name=user_name, character_name=cast.character.display_name)
    return LoadedChat(messages=cast.greetings() if options.all_cards else example.history())


def _home(
    file: Path, cast: CastFiles, chat: LoadedChat, settings: SettingsFile
) -> Literal["character", "chat", "persona"] | None:
    """Whose book this is: it belongs to whoever names it, else to everybody."""
    if file.stem == chat.book_name:
        return "chat"
    if file.stem == settings.persona_book:
        return "persona"
    return "character" if file.stem == cast.book_name else None


def _with_budget(preset: ChatPreset | TextPreset, context: int | None, reserve: int | None) -> ChatPreset | TextPreset:
    if isinstance(preset, ChatPreset):
        given = {"openai_max_context": context, "openai_max_tokens": reserve}
    else:
        given = {"max_length": context, "genamt": reserve}
    return msgspec.structs.replace(preset, **{name: tokens for name, tokens in given.items() if tokens is not None})


def _note(written: AuthorsNote, options: BuildOptions) -> AuthorsNote:
    """The note of the chat, with what the options say about it."""
    given = {
        "text": options.note,
        "position": options.note_position,
        "depth": options.note_depth,
        "role": options.note_role,
        "interval": options.note_interval,
    }
    return msgspec.structs.replace(written, **{name: value for name, value in given.items() if value is not None})


def _model(preset: ChatPreset | TextPreset) -> str | None:
    return (chosen_model(preset) or None) if isinstance(preset, ChatPreset) else None


def _dialect(wanted: str | None, preset: ChatPreset | TextPreset) -> str:
    if isinstance(preset, ChatPreset):
        chosen = wanted or chosen_dialect(preset)
    elif wanted in (None, "text"):
        chosen = "text"
    else:
        raise UsageError(f"{wanted} has no text completion. Remove --dialect, or use a chat-completion preset.")
    dialects.get(chosen)
    return chosen


def build_prepared(prepared: PreparedBuild, *, trace: bool = False) -> Built[SillyTavernResult]:
    """Build the request."""
    try:
        return sillytavern.build(story=prepared.story, trace=trace, **prepared.inputs)
    except MacroError as error:
        # Only a strict build minds a macro, and what a strict build minds is a failed check.
        raise StrictModeError(str(error)) from error
    except InvalidContextTemplateError as error:
        raise FileError(prepared.context_file, error) from error
