"""The reference of CBS says something about every built-in function."""

from __future__ import annotations

from tavernkit.risuai.cbs.functions import BUILTIN
from tavernkit.risuai.cbs.reference import cbs_reference
from tavernkit.risuai.cbs.registry import Functions


def test_every_function_is_described_once_by_one_of_its_names() -> None:
    table = Functions(BUILTIN).table
    described = [table[one.name] for one in cbs_reference() if one.topic != "blocks"]
    assert len(set(map(id, described))) == len(described)
    assert set(map(id, described)) == set(map(id, table.values()))
    assert all(one.description.endswith(".") for one in cbs_reference())
