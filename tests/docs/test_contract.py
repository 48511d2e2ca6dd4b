"""The page of the contract: what it names can be imported, and its tests exist."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from tavernkit.risuai import errors as risuai
from tavernkit.sillytavern import errors as sillytavern

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contract.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.endswith("| where | test |")
]


def find(name: str) -> object:
    """A module, or what it has under a dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@cache
def collected_from(path: str) -> set[str]:
    """What pytest would collect from a file, by name, `Class::test` where it is a method."""
    found: set[str] = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case ast.ClassDef(name=owner, body=body):
                methods = [one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
                found.update(f"{owner}::{method.name}" for method in methods)
            case _:
                pass
    return {name for name in found if name.split("::")[-1].startswith(("test_", "Test"))}


def test_every_row_has_four_cells_and_says_something_new() -> None:
    assert len(ROWS) > 120
    assert [row for row in ROWS if len(row) != 4 or not all(row)] == []
    for column in (0, 1):
        cells = [row[column] for row in ROWS]
        assert [cell for cell in cells if cells.count(cell) > 1] == []
    for _, _, where, tests in ROWS:
        for cell in (where, tests):
            named = re.fullmatch(r"`[^`]+`(?:, `[^`]+`)*", cell)
            assert named, cell
            assert len(set(cell.split(", "))) == len(cell.split(", ")), cell


@pytest.mark.parametrize("name", sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[2])}))
def test_what_the_contract_names_can_be_imported(name: str) -> None:
    assert find(name) is not None


def test_every_test_of_the_contract_exists() -> None:
    named = {test for row in ROWS for test in re.findall(r"`([^`]+)`", row[3])}
    missing = []
    for test in sorted(named):
        function, _, case = test.partition("[")
        path, _, name = function.partition("::")
        if not (ROOT / path).is_file() or name not in collected_from(path):
            missing.append(test)
        if case:
            assert find(case.removesuffix("]")) is not None
    assert missing == []


def test_every_error_that_a_platform_shares_with_the_core_is_in_the_contract() -> None:
    others = {"GroupError", "DepartedMemberError", "UnknownMemberError", "MemoryStateError", "SendingStopped"}
    listed = {name for row in ROWS for name in re.findall(r"`([^`]+)`", row[2])}
    for module in (sillytavern, risuai):
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        assert own
        assert [name for name in own if name not in others and f"{module.__name__}.{name}" not in listed] == []
