"""Running commands in tests through the same door as a shell does."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from tavernkit.cli import app

__all__ = ["Result", "run"]


class Result(NamedTuple):
    """What a shell would see."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout.decode()

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.stdout)

    @property
    def error(self) -> Any:
        """Standard error as the one JSON object that it must be."""
        return json.loads(self.stderr)["error"]


def run(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    """Run one command; an exception that would end in a traceback fails the test."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError("".join(traceback.format_exception(result.exception)))
    return Result(result.exit_code, result.stdout_bytes, result.stderr)
