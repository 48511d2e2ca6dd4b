"""`tavernkit build`: the request that SillyTavern or RisuAI would send, and where every part of it comes from."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tavernkit.cli.build_options import BuildOptions, command_of
from tavernkit.cli.errors import UsageError
from tavernkit.cli.output import Printer, emit, plain
from tavernkit.values import Json, Value

if TYPE_CHECKING:
    from tavernkit.cli.build_report import BuiltRequest
    from tavernkit.cli.files import FileNote
    from tavernkit.prompt.plan import Plan

_LISTS_OF_MESSAGES = ("messages", "contents")
_SILLYTAVERN_ONLY = (
    *("speaker", "group", "instruct", "context_template", "settings", "regex"),
    *("note_position", "note_depth", "note_role", "note_interval", "quiet_prompt"),
)
_RISUAI_ONLY = ("module", "toggle", "greeting")


def _build_request(options: BuildOptions) -> None:
    """Build the request that SillyTavern or RisuAI would send, and print its messages.

    A chat-completion preset of SillyTavern and a preset of RisuAI give messages in the provider's format. A
    text-completion preset or a template gives one text.
    """
    _show(built_from(options), with_report=options.explain, as_json=options.as_json)


def built_from(options: BuildOptions) -> BuiltRequest:
    """The request that the options ask for."""
    if options.platform == "risuai":
        from tavernkit.cli.build_risuai import build_risuai

        _refuse(options, _SILLYTAVERN_ONLY, "SillyTavern")
        return build_risuai(options)
    from tavernkit.cli.build_sillytavern import build_sillytavern

    _refuse(options, _RISUAI_ONLY, "RisuAI")
    return build_sillytavern(options)


build_request = command_of(_build_request, BuildOptions)


def _refuse(options: BuildOptions, names: tuple[str, ...], platform: str) -> None:
    """Raise UsageError for an option that only the other platform has."""
    for name in names:
        if getattr(options, name) is not None:
            spelt = name.replace("_", "-")
            raise UsageError(f"--{spelt} is an option of {platform} only. Remove it, or change --platform.")


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

    printer = Printer()
    for paragraph in _paragraphs(payload):
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
        if note.outcome == "ignored" and not note.is_broken:
            print(f"tavernkit: note: {plain(str(note))}", file=sys.stderr)


class _Paragraph(Value, frozen=True, kw_only=True):
    """Something that is said; `role` is empty where the whole prompt is one text."""

    text: str
    role: str = ""
    name: str = ""


def _paragraphs(payload: Json) -> Iterator[_Paragraph]:
    """The messages of a payload in any dialect."""
    match payload:
        case str():
            yield _Paragraph(text=payload)
        case list():
            yield from map(_message, payload)
        case Mapping():
            for key, value in payload.items():
                if key in _LISTS_OF_MESSAGES and isinstance(value, list):
                    yield from map(_message, value)
                elif text := _text(value):
                    yield _Paragraph(role="system", text=text)
        case _:
            yield _Paragraph(text=_json(payload))


def _message(message: Json) -> _Paragraph:
    if not isinstance(message, Mapping):
        return _Paragraph(text=_text(message))
    said = _text(message.get("content", message.get("parts")))
    calls = [_json(call) for call in message.get("tool_calls") or ()]
    return _Paragraph(
        role=str(message.get("role", "")),
        name=str(message.get("name") or ""),
        text="\n".join([*([said] if said or not calls else []), *calls]),
    )


def _text(content: Json) -> str:
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n\n".join(map(_text, content))
        case {"parts": list(parts)}:
            return _text(parts)
        case {"text": str(text)}:
            return text
        case _:
            return _json(content)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
