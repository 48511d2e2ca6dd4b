"""`tavernkit build`: the request that SillyTavern or RisuAI would send, and where every part of it comes from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tavernkit.cli.errors import UsageError
from tavernkit.cli.output import JsonOption, Printer, emit
from tavernkit.cli.terminal import plain
from tavernkit.cli.tokens import ModelOption

if TYPE_CHECKING:
    from tavernkit.cli.build_report import BuildReport
    from tavernkit.cli.build_result import BuiltRequest
    from tavernkit.cli.file_notes import FileNote
    from tavernkit.prompt.plan import Plan
    from tavernkit.values import Json

__all__ = ["GenerationType", "NotePosition", "NoteRole", "Platform", "build_request"]


class Platform(StrEnum):
    """Whose prompt is built."""

    sillytavern = "sillytavern"
    risuai = "risuai"


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


def build_request(
    cards: Annotated[
        list[Path] | None, typer.Argument(metavar="[CARD]...", show_default=False, help="The same as --card.")
    ] = None,
    platform: Annotated[
        Platform, typer.Option("--platform", help="The application whose request is built.")
    ] = Platform.sillytavern,
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
    module: Annotated[
        list[Path] | None,
        typer.Option("--module", metavar="FILE", help="A RisuAI module that is switched on; may be repeated."),
    ] = None,
    toggle: Annotated[
        list[str] | None,
        typer.Option("--toggle", metavar="NAME[=VALUE]", help="A switch of RisuAI's; may be repeated."),
    ] = None,
    greeting: Annotated[
        int | None,
        typer.Option("--greeting", metavar="N", min=0, help="RisuAI's greeting: 0 is the first message."),
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
    """Build the request that SillyTavern, or RisuAI, would send, and print its messages.

    SillyTavern's presets for chat completion make messages in the provider's format, those for text completion and
    templates make one text. RisuAI's presets make messages.
    """
    named = (*(cards or ()), *(card or ()))
    if platform is Platform.risuai:
        from tavernkit.cli.build_risuai import RisuOptions, build_risuai
        from tavernkit.cli.build_risuai_files import RisuFiles

        _refuse(
            "SillyTavern's",
            {
                "--speaker": speaker,
                "--group": group,
                "--instruct": instruct,
                "--context-template": context_template,
                "--settings": settings,
                "--regex": regex,
                "--note-position": note_position,
                "--note-depth": note_depth,
                "--note-role": note_role,
                "--note-interval": note_interval,
                "--quiet-prompt": quiet_prompt,
            },
        )
        built = build_risuai(
            RisuFiles(
                cards=named,
                presets=tuple(preset or ()),
                history=history,
                lore=tuple(lore or ()),
                modules=tuple(module or ()),
            ),
            RisuOptions(
                user=user,
                persona=persona,
                message=message,
                note=note or "",
                toggles=tuple(toggle or ()),
                greeting=greeting,
                generation_type=type_.value,
                dialect=dialect,
                model=model,
                context=context,
                reserve=reserve,
                trace=trace,
                strict=strict,
            ),
        )
    else:
        from tavernkit.cli.build_files import BuildFiles
        from tavernkit.cli.build_sillytavern import NoteOptions, SillyTavernOptions, build_sillytavern

        _refuse("RisuAI's", {"--module": module, "--toggle": toggle, "--greeting": greeting})
        built = build_sillytavern(
            BuildFiles(
                cards=named,
                group=group,
                presets=tuple(preset or ()),
                instruct=instruct,
                context_template=context_template,
                settings=settings,
                history=history,
                lore=tuple(lore or ()),
                regex=tuple(regex or ()),
            ),
            SillyTavernOptions(
                speaker=speaker,
                user=user,
                persona=persona,
                message=message,
                note=NoteOptions(
                    text=note,
                    position=None if note_position is None else note_position.value,
                    depth=note_depth,
                    role=None if note_role is None else note_role.value,
                    interval=note_interval,
                ),
                generation_type=type_.value,
                quiet_prompt=quiet_prompt,
                dialect=dialect,
                model=model,
                context=context,
                reserve=reserve,
                trace=trace,
                strict=strict,
            ),
        )
    _show(built, explain=explain, as_json=as_json)


def _refuse(whose: str, options: Mapping[str, object]) -> None:
    """Raise UsageError for an option that only the other platform has."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} is {whose}; leave it out, or choose that --platform.")


def _show(built: BuiltRequest, *, explain: bool, as_json: bool) -> None:
    payload = built.plan.to_messages(built.dialect, model=built.model or "")
    report = None
    if explain:
        from tavernkit.cli.build_report import explain_plan

        report = explain_plan(
            built.plan,
            history=built.messages,
            completion=built.completion,
            generation_type=built.generation_type,
            dialect=built.dialect,
            model=built.model,
            notes=built.notes,
        )
    if as_json:
        _emit(built.plan, payload, built.dialect, report, built.notes)
    else:
        _print(built.plan, payload, report, built.notes)


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
