"""The reference page says of every built-in macro what is declared about it."""

from __future__ import annotations

from pathlib import Path

from tavernkit.sillytavern.macros import MacroDefinition
from tavernkit.sillytavern.macros.packs import built_in_macros

PAGE = Path(__file__).parents[3] / "docs" / "macros.md"
SECTIONS = {
    "names": "Names",
    "character": "Character and persona",
    "chat": "Chat",
    "time": "Time",
    "variable": "Variables",
    "prompts": "Prompts and templates",
    "random": "Chance",
    "utility": "Utility",
    "state": "State",
}


def row(definition: MacroDefinition, *, is_new: bool) -> str:
    call = "".join(
        f"::[{argument.name}]" if argument.optional else f"::{argument.name}" for argument in definition.arguments
    )
    call += "::…" if definition.takes_list else ""
    others = ", ".join(f"`{alias.name}`" for alias in definition.aliases)
    name = f"`{{{{{definition.name}{call}}}}}`" + (f" ({others})" if others else "")
    return f"| {name} | {definition.description} | {'1.19' if is_new else '1.15'} |"


def test_the_page_has_a_row_for_every_macro_under_its_topic() -> None:
    old = {definition.name for definition in built_in_macros("1.15")}
    expected = {title: [] for title in SECTIONS.values()}
    for definition in built_in_macros("1.19"):
        expected[SECTIONS[definition.category]].append(row(definition, is_new=definition.name not in old))
    reference = PAGE.read_text(encoding="utf-8").partition("## Reference")[2]
    written = {
        section.split("\n", 1)[0]: [line for line in section.splitlines() if line.startswith("| `")]
        for section in reference.split("### ")[1:]
    }
    assert written == expected
