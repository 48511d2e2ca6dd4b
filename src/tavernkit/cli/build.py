"""`tavernkit build`: the request that SillyTavern would send, and where every part of it comes from."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tavernkit.cli.errors import FileError, UsageError
from tavernkit.cli.output import JsonOption, Printer, emit
from tavernkit.cli.terminal import plain
from tavernkit.cli.tokens import ModelOption

if TYPE_CHECKING:
    from tavernkit.cli.build_report import BuildReport
    from tavernkit.cli.file_notes import FileNote
    from tavernkit.prompt.build import BuildInputs
    from tavernkit.prompt.plan import Plan
    from tavernkit.sillytavern import AuthorsNote, Story
    from tavernkit.sillytavern.presets import ChatPreset, TextPreset
    from tavernkit.values import Json

__all__ = ["GenerationType", "NotePosition", "NoteRole", "build_sillytavern"]

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


class GenerationType(StrEnum):
    """What is asked of the model."""

    normal = "normal"
    continue_ = "continue"
    impersonate = "impersonate"
    swipe = "swipe"
    regenerate = "regenerate"
    quiet = "quiet"


class NotePosition(StrEnum):
    """Where the author's note stands: in the chat, or before or after the main prompt."""

    chat = "chat"
    before = "before"
    after = "after"


class NoteRole(StrEnum):
    """Whose words the author's note is."""

    system = "system"
    user = "user"
    assistant = "assistant"


def build_sillytavern(
    card: Annotated[
        list[Path] | None,
        typer.Option(
            "--card", metavar="FILE", help="The character's card; several make a group. Without one, an example."
        ),
    ] = None,
    speaker: Annotated[
        str | None, typer.Option("--speaker", metavar="NAME", help="Who of a group speaks; else the first card.")
    ] = None,
    group: Annotated[
        Path | None, typer.Option("--group", metavar="FILE", help="SillyTavern's file of the group.")
    ] = None,
    preset: Annotated[
        list[Path] | None,
        typer.Option("--preset", metavar="FILE", help="A preset, a template or a master export; may be repeated."),
    ] = None,
    instruct: Annotated[
        Path | None, typer.Option("--instruct", metavar="FILE", help="An instruct template, for text completion.")
    ] = None,
    context_template: Annotated[
        Path | None, typer.Option("--context-template", metavar="FILE", help="A context template, likewise.")
    ] = None,
    settings: Annotated[
        Path | None, typer.Option("--settings", metavar="FILE", help="SillyTavern's settings.json, or its power_user.")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option("--history", metavar="FILE", help="The chat: SillyTavern's, another application's, a JSON list."),
    ] = None,
    message: Annotated[str, typer.Option("--message", metavar="TEXT", help="What the user says next.")] = "",
    lore: Annotated[
        list[Path] | None,
        typer.Option("--lore", metavar="FILE", help="A lorebook to use beside the card's own; may be repeated."),
    ] = None,
    regex: Annotated[
        list[Path] | None,
        typer.Option("--regex", metavar="FILE", help="Regex scripts to run beside the card's and the preset's."),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="The name of the user.")] = None,
    persona: Annotated[
        str | None, typer.Option("--persona", metavar="TEXT|FILE", help="Who the user is: a text, or a file with it.")
    ] = None,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="The author's note.")] = None,
    note_position: Annotated[
        NotePosition | None, typer.Option("--note-position", help="In the chat, before or after the main prompt.")
    ] = None,
    note_depth: Annotated[
        int | None, typer.Option("--note-depth", metavar="N", min=0, help="How many messages stand behind the note.")
    ] = None,
    note_role: Annotated[NoteRole | None, typer.Option("--note-role", help="Whose words the note is.")] = None,
    note_interval: Annotated[
        int | None,
        typer.Option("--note-interval", metavar="N", min=0, help="Every how many user messages; 0 is never."),
    ] = None,
    type_: Annotated[GenerationType, typer.Option("--type", help="What is asked for.")] = GenerationType.normal,
    quiet_prompt: Annotated[
        str | None, typer.Option("--quiet-prompt", metavar="TEXT", help="The instruction of a quiet generation.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", metavar="NAME", help="The provider's format; else the preset's.")
    ] = None,
    model: ModelOption = None,
    context: Annotated[
        int | None, typer.Option("--context", metavar="N", min=1, help="The window in tokens; else the preset's.")
    ] = None,
    reserve: Annotated[
        int | None, typer.Option("--reserve", metavar="N", min=0, help="Tokens for the reply; else the preset's.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each block with its source and size, and what was left out and why.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show how long each stage took.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where there would be a warning.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build the request that SillyTavern would send, and print its messages.

    A chat-completion preset makes messages in the provider's format, a text-completion preset or a template one text.
    """
    from tavernkit.cli.build_files import BuildFiles, read_files
    from tavernkit.prompt.build import BuildInputs
    from tavernkit.sillytavern import QuietPrompt
    from tavernkit.sillytavern.presets import ChatPreset

    if quiet_prompt is not None and type_ is not GenerationType.quiet:
        raise UsageError("--quiet-prompt is the instruction of a quiet generation; say --type quiet as well.")
    found = read_files(
        BuildFiles(
            cards=tuple(card or ()),
            group=group,
            presets=tuple(preset or ()),
            instruct=instruct,
            context_template=context_template,
            settings=settings,
            history=history,
            lore=tuple(lore or ()),
            regex=tuple(regex or ()),
        ),
        speaker=speaker,
        user=user,
        persona=persona,
    )
    used = _with_budget(found.preset, context, reserve)
    story = found.story.with_(
        note=_note(found.story.note, note, note_position, note_depth, note_role, note_interval),
        quiet=None if quiet_prompt is None else QuietPrompt(text=quiet_prompt),
    )
    model = model or _model(used)
    dialect = _dialect(dialect, used)
    plan = _build(
        story,
        BuildInputs(
            character=found.character,
            user=found.user,
            history=found.messages,
            message=message,
            preset=used,
            books=found.books,
            generation_type=type_.value,
            model=model,
            variables=found.variables,
            strict=strict,
        ),
        context_file=found.context_file,
        trace=trace,
    )
    payload = plan.to_messages(dialect, model=model or "")
    report = None
    if explain:
        from tavernkit.cli.build_report import explain_plan

        report = explain_plan(
            plan,
            history=found.messages,
            completion="chat" if isinstance(used, ChatPreset) else "text",
            generation_type=type_.value,
            dialect=dialect,
            model=model,
            notes=found.notes,
        )
    if as_json:
        _emit(plan, payload, dialect, report, found.notes)
    else:
        _print(plan, payload, report, found.notes)


def _with_budget(preset: ChatPreset | TextPreset, context: int | None, reserve: int | None) -> ChatPreset | TextPreset:
    from tavernkit.sillytavern.presets import ChatPreset

    window, reply = (
        ("openai_max_context", "openai_max_tokens")
        if isinstance(preset, ChatPreset)
        else (
            "max_length",
            "genamt",
        )
    )
    given = {window: context, reply: reserve}
    return preset.with_(**{name: tokens for name, tokens in given.items() if tokens is not None})


def _note(
    written: AuthorsNote,
    text: str | None,
    position: NotePosition | None,
    depth: int | None,
    role: NoteRole | None,
    interval: int | None,
) -> AuthorsNote:
    """The note of the chat, with what the options say about it."""
    given = {
        "text": text,
        "position": None if position is None else position.value,
        "depth": depth,
        "role": None if role is None else role.value,
        "interval": interval,
    }
    return written.with_(**{name: value for name, value in given.items() if value is not None})


def _model(preset: ChatPreset | TextPreset) -> str | None:
    from tavernkit.sillytavern.chat_completion.request import chosen_model
    from tavernkit.sillytavern.presets import ChatPreset

    return (chosen_model(preset) or None) if isinstance(preset, ChatPreset) else None


def _dialect(wanted: str | None, preset: ChatPreset | TextPreset) -> str:
    from tavernkit import dialects
    from tavernkit.sillytavern.presets import ChatPreset

    if isinstance(preset, ChatPreset):
        chosen = wanted or DIALECTS.get(preset.chat_completion_source, "openai")
    elif wanted in (None, "text"):
        chosen = "text"
    else:
        raise UsageError(
            f"A text completion is one text, which {wanted} has no form for; leave out --dialect, or name a"
            " chat-completion preset."
        )
    dialects.get(chosen)
    return chosen


def _build(story: Story, inputs: BuildInputs, *, context_file: str, trace: bool) -> Plan:
    from tavernkit import sillytavern
    from tavernkit.errors import StrictModeError
    from tavernkit.sillytavern.errors import InvalidContextTemplateError, MacroError

    try:
        return sillytavern.build(story=story, trace=trace, **inputs)
    except MacroError as error:
        # Only a strict build minds a macro, and what a strict build minds is a failed check.
        raise StrictModeError(str(error)) from error
    except InvalidContextTemplateError as error:
        raise FileError(context_file, error) from error


def _emit(plan: Plan, payload: Json, dialect: str, report: BuildReport | None, notes: tuple[FileNote, ...]) -> None:
    document = {"dialect": dialect, "payload": payload, "options": plan.llm_options}
    if report is None:
        seen = {"warnings": plan.warnings, "notes": notes}
        emit(document | seen | ({} if plan.trace is None else {"trace": plan.trace}))
    else:
        emit(document | {"report": report})


def _print(plan: Plan, payload: Json, report: BuildReport | None, notes: tuple[FileNote, ...]) -> None:
    from tavernkit.cli.build_report import print_report
    from tavernkit.cli.payload_text import payload_text
    from tavernkit.cli.prompt_report import ROLE_COLOURS, print_trace

    printer = Printer()
    if report is not None:
        print_report(printer, report)
        return
    for paragraph in payload_text(payload):
        if paragraph.role:
            name = f" ({paragraph.name})" if paragraph.name else ""
            printer.line(f"[{paragraph.role}{name}]", style=ROLE_COLOURS.get(paragraph.role, "bold"))
        printer.line(paragraph.text)
        if paragraph.role:
            printer.line()
    if plan.trace is not None:
        print_trace(printer, plan.trace)
    # Beside the messages, so that standard output holds nothing else.
    for warning in plan.warnings:
        print(f"tavernkit: warning: {plain(warning.message)}", file=sys.stderr)
    for note in notes:
        if note.outcome == "ignored":
            print(f"tavernkit: note: {plain(str(note))}", file=sys.stderr)
