"""The one place where an exception becomes a sentence and an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from tavernkit.cli.output import plain
from tavernkit.errors import StrictModeError, TavernKitError, TokenBudgetExceeded, UnsupportedVersionError
from tavernkit.values import Value

CHECK_FAILED = 1
UNUSABLE = 2
UNSUPPORTED = 3


class UsageError(typer.TyperException):
    """Options that do not go together."""

    exit_code = UNUSABLE


class FileError(Exception):
    """An error that is about one file; the error itself is the `__cause__`."""

    def __init__(self, name: str, cause: TavernKitError | OSError | UnicodeError) -> None:
        super().__init__(name)
        self.name = name
        self.__cause__ = self.cause = cause


class StrictFileError(FileError):
    """A file that can be used, and that a strict command refuses for what is broken in it."""


class BatchError(Exception):
    """Some of several files failed; the command went on with the others."""

    def __init__(self, errors: Sequence[FileError | TavernKitError]) -> None:
        super().__init__(f"{len(errors)} files failed")
        self.errors = tuple(errors)


class Failure(Value, frozen=True, kw_only=True):
    """An error as the user sees it."""

    type: str
    message: str
    exit_code: int = UNUSABLE


@contextmanager
def about(path: Path) -> Iterator[None]:
    """Let an error inside say which file it is about."""
    try:
        yield
    except (TavernKitError, OSError, UnicodeError) as error:
        raise FileError(display_name(path), error) from error


def display_name(path: Path) -> str:
    """The path as it was given, or what `-` stands for."""
    return "standard input" if str(path) == "-" else str(path)


def explain(error: Exception) -> Failure:
    """What to tell the user about an error, and the exit code it deserves."""
    kind = type(error).__name__
    match error:
        case StrictFileError():
            inner = explain(error.cause)
            return inner.with_(message=f"{error.name}: {inner.message}", exit_code=CHECK_FAILED)
        case FileError():
            inner = explain(error.cause)
            return inner.with_(message=f"{error.name}: {inner.message}")
        case BatchError():
            failures = [explain(each) for each in error.errors]
            if len(failures) == 1:
                return failures[0]
            message = "\n".join(failure.message for failure in failures)
            return Failure(type=kind, message=message, exit_code=max(failure.exit_code for failure in failures))
        case typer.TyperException():
            return Failure(type="UsageError", message=f"{error.format_message()} See tavernkit --help.")
        case UnsupportedVersionError():
            return Failure(type=kind, message=str(error), exit_code=UNSUPPORTED)
        case StrictModeError() | TokenBudgetExceeded():
            return Failure(type=kind, message=str(error), exit_code=CHECK_FAILED)
        case OSError():
            return Failure(type=kind, message=f"{error.strerror or error}.")
        case _:
            return Failure(type=kind, message=str(error))


class ErrorReporting(TyperGroup):
    """The root group: bad input ends in one sentence on standard error, or in one JSON object after `--json`."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except (typer.TyperException, FileError, BatchError, TavernKitError, OSError, UnicodeError) as error:
            failure = explain(error)
            _print(failure, as_json=_wants_json(sys.argv[1:] if args is None else args))
            code = failure.exit_code
        sys.exit(code)


def _wants_json(arguments: Sequence[str]) -> bool:
    # The command line may be what is wrong, so this cannot wait for it to be parsed.
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _print(failure: Failure, *, as_json: bool) -> None:
    if as_json:
        document = {"error": {"type": failure.type, "message": failure.message}}
        print(json.dumps(document), file=sys.stderr)
        return
    for line in failure.message.splitlines():
        print(f"tavernkit: {plain(line)}", file=sys.stderr)
