"""Running commands in tests through the same door as a shell does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from typer.main import get_command
from typer.testing import CliRunner

from tavernkit.cli import app

__all__ = ["Result", "run"]

# Made once: `CliRunner.invoke` would make all commands anew for every run.
_COMMAND = get_command(app)


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
    """Run one command; an exception that would end in a traceback comes out."""
    with CliRunner().isolation(input=stdin) as (stdout, stderr, _):
        code = _exit_code([str(argument) for argument in arguments])
        sys.stdout.flush()
        sys.stderr.flush()
        return Result(code, stdout.getvalue(), stderr.getvalue().decode())


def _exit_code(arguments: list[str]) -> int:
    try:
        _COMMAND.main(args=arguments, prog_name="tavernkit")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0
