"""Mutation check: change one thing at a time in a room of the library, and see whether the tests of that room notice.

    PYTHONPATH=. .venv/bin/python scripts/mutate.py lore [--most 400]

Every mutant is a forked process that imports the library afresh, one module of it changed, and runs the room's tests
until one fails. Of too many mutants a sample is taken, the same each time. Line by line it prints what survived.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import random
import resource
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
RECORDED = "tests/conformance/test_recorded.py::test_recorded_cases_agree"
ROOMS = {
    "lore": (
        ["lore/**/*.py"],
        [
            "tests/lore",
            "tests/cli/test_broken_input.py",
            f"{RECORDED}[sillytavern/card_book]",
            f"{RECORDED}[sillytavern/world_info]",
        ],
    ),
    "macros": (["macros/*.py"], ["tests/macros"]),
    "dialects": (["dialects/*.py"], ["tests/dialects"]),
    "trimming": (["history.py", "prompt/trimming.py"], ["tests/test_history.py", "tests/prompt/test_trimming.py"]),
    "groups": (["sillytavern/groups/*.py"], ["tests/sillytavern/groups"]),
}
"""The files that are changed, below src/tavernkit, and the tests that should notice."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
NOT_RUN = {(ast.ClassDef, "keywords"), (ast.Raise, "exc"), (ast.Raise, "cause")}
MOST_SECONDS = 30
APPLICATION = ("tests.playground.support.databases", "tests.playground.support.server")
UNUSED = ("cacheprovider", "xdist", "schemathesis", "pytest_cov", *APPLICATION)
OPTIONS = ["-q", "-W", "ignore::pytest.PytestAssertRewriteWarning", *(f"-pno:{name}" for name in UNUSED)]
# Imported once, so that forked processes need not.
for module in ("anyio.pytest_plugin", "hypothesis.stateful", "msgspec", "jsonschema_rs", "kitoken", "tiktoken"):
    importlib.import_module(module)


class Mutant(NamedTuple):
    file: Path
    line: int
    change: str
    code: CodeType


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What could stand in place of this piece of code."""
    match node:
        case ast.Compare(ops=[operator], left=left, comparators=others) if type(operator) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(operator)]()], others)
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
            for place in range(len(values)):
                rest = [*values[:place], *values[place + 1 :]]
                yield ast.BoolOp(operator, rest) if len(rest) > 1 else rest[0]
        case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
            yield ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(str(value)):
            yield ast.Constant(f"{value}XX" if value else "XX")
        case ast.If(test, body, otherwise):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, otherwise)
        case ast.IfExp(test, value, other):
            yield ast.IfExp(test, other, value)
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call()):
            yield ast.Pass()


def mutants(file: Path) -> Iterator[Mutant]:
    tree = ast.parse(file.read_text())
    for parent, field, place, node in list(pieces(tree)):
        for changed in changes(node):
            old = getattr(parent, field)
            setattr(parent, field, changed if place is None else [*old[:place], changed, *old[place + 1 :]])
            code = compile(ast.fix_missing_locations(tree), str(file), "exec")
            setattr(parent, field, old)
            shown = " → ".join(ast.unparse(each).splitlines()[0][:60] for each in (node, changed))
            yield Mutant(file, getattr(node, "lineno", 0), shown, code)


def pieces(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every piece of code that is run, with its place; the wording of errors and how a class is declared count not."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "format_spec") or (type(node), field) in NOT_RUN:
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            is_listing = isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) == "__all__"
            is_alias = isinstance(child, ast.AnnAssign) and ast.unparse(child.annotation) == "TypeAlias"
            is_stub = isinstance(child, ast.FunctionDef) and ast.unparse(child.body[-1]) == "..."
            if isinstance(child, ast.AST) and not (is_text or is_listing or is_alias or is_stub):
                yield node, field, place, child
                yield from pieces(child)


def import_instead(mutant: Mutant) -> None:
    """Whoever imports the file from now on gets the mutant."""
    read = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        return mutant.code if loader.path == str(mutant.file) else read(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign] # only in this forked process


def is_killed(mutant: Mutant | None, tests: list[str]) -> bool:
    """Whether a test fails, or never ends, in a process with this change."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if mutant is not None:
            import_instead(mutant)
        code = 1
        try:
            code = int(pytest.main(["-x", *OPTIONS, *tests]))
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] != 0


def check_room(room: str, most: int) -> None:
    places, tests = ROOMS[room]
    files = sorted(file for place in places for file in SOURCE.glob(f"tavernkit/{place}"))
    found = [mutant for file in files for mutant in mutants(file)]
    sample = random.Random(1).sample(found, min(most, len(found)))  # noqa: S311 - nothing secret
    if is_killed(None, tests):
        raise SystemExit(f"{room}: the tests fail without any change.")
    survivors = [mutant for mutant in sample if not is_killed(mutant, tests)]
    for mutant in sorted(survivors, key=lambda mutant: (mutant.file, mutant.line)):
        print(f"  {mutant.file.relative_to(SOURCE)}:{mutant.line} {mutant.change}")
    killed = len(sample) - len(survivors)
    print(f"{room}: {killed} of {len(sample)} killed, {killed / len(sample):.0%}; {len(found)} in all", flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("rooms", nargs="*", default=list(ROOMS))
    options.add_argument("--most", type=int, default=400)
    chosen = options.parse_args()
    os.environ["TAVERNKIT_HYPOTHESIS"] = "mutation"
    for each in chosen.rooms:
        check_room(each, chosen.most)
