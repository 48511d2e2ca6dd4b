"""`tavernkit tokens`: how many tokens a text is, and which."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tavernkit.cli.errors import UsageError, about
from tavernkit.cli.files import read_input
from tavernkit.cli.output import JsonOption, Printer, emit

ModelOption = Annotated[
    str | None, typer.Option("--model", metavar="HINT", help="Count as this model does, such as gpt-4o.")
]


def count(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The text file to count; - reads standard input.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Count this text instead of a file.")] = None,
    model: ModelOption = None,
    pieces: Annotated[bool, typer.Option("--pieces", help="List every token with its text.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Count the tokens of a text."""
    from tavernkit.prompt.tokens import default_estimator

    counted = _text(file, text)
    estimator = default_estimator()
    tokens = estimator.estimate(counted, model)
    encoding = estimator.describe(model)
    found = estimator.tokenize(counted, model) if pieces else []
    if as_json:
        document = {"tokens": tokens, "characters": len(counted), "encoding": encoding}
        listed = {"pieces": [{"id": piece.id, "text": piece.text} for piece in found]} if pieces else {}
        emit(document | listed)
        return
    printer = Printer()
    certainty = "exact" if encoding.exact else "an estimate"
    printer.line(f"{tokens:,} tokens, {len(counted):,} characters ({encoding.name}, {certainty})")
    for piece in found:
        printer.line(f"{piece.id:>8}  {json.dumps(piece.text, ensure_ascii=False)}")


def _text(file: Path | None, text: str | None) -> str:
    from tavernkit.reading import decode_text

    if text is not None and file is not None:
        raise UsageError("Use a file or --text, not both.")
    if text is not None:
        return text
    if file is None and sys.stdin.isatty():
        raise UsageError("There is no text to count. Name a file, use --text, or pipe a text to standard input.")
    source = Path("-") if file is None else file
    data = read_input(source)
    with about(source):
        return decode_text(data, what="The file")
