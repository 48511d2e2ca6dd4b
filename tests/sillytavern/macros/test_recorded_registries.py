"""The registries of both parser engines, as recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tavernkit.sillytavern.macros.packs import built_in_macros

VECTORS = Path(__file__).parents[2] / "conformance" / "sillytavern"


def declared(definition, alias=None):
    return {
        "name": definition.name if alias is None else alias.name,
        "aliasOf": None if alias is None else definition.name,
        "aliasVisible": None if alias is None else alias.visible,
        "category": definition.category,
        "min": definition.min_arguments,
        "max": definition.max_arguments,
        "list": {"min": 0, "max": None} if definition.takes_list else None,
        "strict": definition.strict,
        "delayed": definition.delayed,
        "args": [
            (argument.name, argument.types, argument.optional, argument.default) for argument in definition.arguments
        ],
        "returnType": definition.returns,
    }


def types(recorded):
    return tuple(recorded) if isinstance(recorded, list) else (recorded,)


def recorded(entry):
    return {
        **{key: entry[key] for key in ("name", "aliasOf", "aliasVisible", "category", "min", "max", "list", "strict")},
        "delayed": entry.get("delayed", False),
        "args": [(arg["name"], types(arg["type"]), arg["optional"], arg.get("default")) for arg in entry["args"]],
        "returnType": types(entry["returnType"]),
    }


@pytest.mark.parametrize(("version", "file"), [("1.15", "macro_registry"), ("1.19", "macro_registry_next")])
def test_what_is_declared_about_a_macro_is_what_was_recorded(version, file):
    ours = {}
    for definition in built_in_macros(version):
        ours[definition.name] = declared(definition)
        ours.update({alias.name: declared(definition, alias) for alias in definition.aliases})
    theirs = {entry["name"]: recorded(entry) for entry in json.loads((VECTORS / f"{file}.json").read_text())}
    assert ours == theirs
