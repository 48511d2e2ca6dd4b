"""`tavernkit prompt`: build a prompt and see what every part of it is and costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tavernkit.cli.files import read_noted, refuse_broken
from tavernkit.cli.output import JsonOption, present
from tavernkit.cli.tokens import ModelOption

if TYPE_CHECKING:
    from tavernkit.characters import Character, User
    from tavernkit.prompt.message import Message
    from tavernkit.reading import ImportReport


def build_prompt(
    card: Annotated[
        Path | None,
        typer.Argument(
            metavar="CARD",
            help="The character card; - reads standard input. Default: an example story.",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="The name of the user.")] = None,
    persona: Annotated[str | None, typer.Option(help="The persona description.")] = None,
    message: Annotated[str, typer.Option(help="The user's next message.")] = "",
    history: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON list of messages with role, content and name.")
    ] = None,
    lore: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A further lorebook; may be repeated."),
    ] = None,
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="The provider's format, such as openai or anthropic.")
    ] = "openai",
    model: ModelOption = None,
    context: Annotated[int, typer.Option(metavar="N", min=1, help="The context size in tokens.")] = 8192,
    reserve: Annotated[
        int, typer.Option(metavar="N", min=0, help="The response length in tokens, reserved in the context.")
    ] = 1024,
    trace: Annotated[bool, typer.Option("--trace", help="Show how long each stage took.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail instead of warning.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a prompt and show what is in it.

    Every message is shown with its role, tokens and source, followed by what was trimmed.
    """
    from tavernkit import example
    from tavernkit.cli.build_files import read_named_book
    from tavernkit.cli.build_report import print_prompt, report_on
    from tavernkit.presets import BudgetPreset
    from tavernkit.prompt.build import build

    reports: list[ImportReport] = []
    character = example.character() if card is None else read_noted(card, _character, reports)
    books = [read_named_book(path, reports) for path in lore or ()]
    if strict:
        refuse_broken(reports)
    plan = build(
        character=character,
        user=_user(user, persona, is_example=card is None),
        history=_history(history, is_example=card is None),
        message=message,
        books=books,
        model=model,
        preset=BudgetPreset(context_window_tokens=context, reserved_response_tokens=reserve),
        strict=strict,
        reports=reports,
        trace=trace,
    ).plan
    report = report_on(plan, dialect, model)
    document = {"payload": plan.to_messages(dialect, model=model or ""), "report": report}
    present(document, lambda printer: print_prompt(printer, report), as_json=as_json)


def _character(data: bytes) -> tuple[Character, ImportReport]:
    from tavernkit.characters import load

    bundle = load(data)
    return bundle.card.character, bundle.report


def _user(name: str | None, persona: str | None, *, is_example: bool) -> User:
    from tavernkit import example
    from tavernkit.characters import User

    who = example.user() if is_example else User(name="User")
    return User(name=who.name if name is None else name, persona=who.persona if persona is None else persona)


def _history(file: Path | None, *, is_example: bool) -> tuple[Message, ...]:
    if file is not None:
        from tavernkit.cli.conversation_file import read_history

        return read_history(file)
    if is_example:
        from tavernkit import example

        return example.history()
    return ()
