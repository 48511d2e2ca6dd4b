"""`tavernkit build`: the request that SillyTavern or RisuAI would send, and where every part of it comes from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tavernkit.cli.build_options import BuildOptions, command_of
from tavernkit.cli.errors import UsageError
from tavernkit.cli.output import Printer, emit, plain

if TYPE_CHECKING:
    from tavernkit.cli.build_report import BuiltRequest
    from tavernkit.cli.files import FileNote
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
    if options.platform == "risuai":
        from tavernkit.cli.build_risuai import build_risuai

        _refuse(options, _SILLYTAVERN_ONLY, "SillyTavern's")
        built = build_risuai(options)
    else:
        from tavernkit.cli.build_sillytavern import build_sillytavern

        _refuse(options, _RISUAI_ONLY, "RisuAI's")
        built = build_sillytavern(options)
    _show(built, with_report=options.explain, as_json=options.as_json)


build_request = command_of(_build_request, BuildOptions)


def _refuse(options: BuildOptions, names: tuple[str, ...], whose: str) -> None:
    """Raise UsageError for an option that only the other platform has."""
    for name in names:
        if getattr(options, name) is not None:
            spelt = name.replace("_", "-")
            raise UsageError(f"--{spelt} is {whose}; leave it out, or choose that --platform.")


def _show(built: BuiltRequest, *, with_report: bool, as_json: bool) -> None:
    from tavernkit.cli.build_report import explain, print_report

    plan = built.plan
    payload = plan.to_messages(built.dialect, model=built.model or "")
    report = explain(built) if with_report else None
    if as_json:
        seen = {"warnings": plan.warnings, "notes": built.notes, **({"trace": plan.trace} if plan.trace else {})}
        document = {"dialect": built.dialect, "payload": payload, "options": plan.llm_options}
        emit(document | (seen if report is None else {"report": report}))
    elif report is None:
        _print(plan, payload, built.notes)
    else:
        print_report(Printer(), report)


def _print(plan: Plan, payload: Json, notes: tuple[FileNote, ...]) -> None:
    from tavernkit.cli.build_report import print_speaker, print_trace
    from tavernkit.cli.payload_text import payload_text

    printer = Printer()
    for paragraph in payload_text(payload):
        if paragraph.role:
            print_speaker(printer, paragraph.role, paragraph.name)
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
