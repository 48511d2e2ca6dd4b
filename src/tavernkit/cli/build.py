"""`tavernkit build`: the request that SillyTavern or RisuAI would send, and where every part of it comes from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tavernkit.cli.build_options import BuildOptions, Platform, command_of
from tavernkit.cli.errors import UsageError
from tavernkit.cli.output import Printer, emit
from tavernkit.cli.terminal import plain

if TYPE_CHECKING:
    from tavernkit.cli.build_report import BuildReport
    from tavernkit.cli.build_result import BuiltRequest
    from tavernkit.cli.file_notes import FileNote
    from tavernkit.prompt.plan import Plan
    from tavernkit.values import Json

_SILLYTAVERN_ONLY = (
    *("speaker", "group", "instruct", "context_template", "settings", "regex"),
    *("note_position", "note_depth", "note_role", "note_interval", "quiet_prompt"),
)
_RISUAI_ONLY = ("module", "toggle", "greeting")


def _build_request(options: BuildOptions) -> None:
    """Build the request that SillyTavern, or RisuAI, would send, and print its messages.

    SillyTavern's presets for chat completion make messages in the provider's format, those for text completion and
    templates make one text. RisuAI's presets make messages.
    """
    if options.platform is Platform.risuai:
        from tavernkit.cli.build_risuai import build_risuai

        _refuse(options, _SILLYTAVERN_ONLY, "SillyTavern's")
        built = build_risuai(options)
    else:
        from tavernkit.cli.build_sillytavern import build_sillytavern

        _refuse(options, _RISUAI_ONLY, "RisuAI's")
        built = build_sillytavern(options)
    _show(built, explain=options.explain, as_json=options.as_json)


build_request = command_of(_build_request, BuildOptions)


def _refuse(options: BuildOptions, names: tuple[str, ...], whose: str) -> None:
    """Raise UsageError for an option that only the other platform has."""
    for name in names:
        if getattr(options, name) is not None:
            spelt = name.replace("_", "-")
            raise UsageError(f"--{spelt} is {whose}; leave it out, or choose that --platform.")


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
