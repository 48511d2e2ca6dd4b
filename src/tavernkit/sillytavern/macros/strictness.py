"""Macros that went wrong, in a build: a warning, or the specific error where the build is strict."""

from __future__ import annotations

from tavernkit.prompt.context import Context
from tavernkit.sillytavern.macros.problems import MacroProblem, ProblemHandler


def warn_in(ctx: Context) -> ProblemHandler:
    """A handler for `expand(…, on_problem=…)` that tells the build of every problem."""

    def warn(problem: MacroProblem) -> None:
        ctx.warn(problem.code, problem.message, error=problem.error(), macro=problem.name, position=problem.position)

    return warn
