"""The reference page, made from the registries: `python -m tavernkit.sillytavern.macros.reference > docs/macros.md`."""

from __future__ import annotations

import sys

from tavernkit.sillytavern.macros.packs import built_in_macros
from tavernkit.sillytavern.macros.registry import MacroArgument, MacroDefinition

_TOPICS = {
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

_INTRODUCTION = """\
# SillyTavern's macros

`tavernkit.sillytavern.macros` expands texts as SillyTavern does. `macro_engine("legacy" | "1.15" | "1.19")` gives one
of three engines: the legacy one, which replaces kind after kind; the parser engine of 1.15; and the one of 1.19, with
blocks, conditions, flags and variable shorthand. `ParserMacros` is the class of the latter two.

```python
from datetime import UTC, datetime

from tavernkit.sillytavern.macros import CardFields, Environment, macro_engine

environment = Environment(
    user_name="Robin",
    character_name="Mira",
    card=CardFields(description="{{char}} paints harbours."),
    clock=lambda: datetime(2024, 3, 15, 14, 30, tzinfo=UTC),
)
engine = macro_engine("1.19")
assert engine.expand("{{description}} It is {{time}}.", environment) == "Mira paints harbours. It is 2:30 PM."
assert engine.expand("{{.hp = 3}}{{if {{.hp > 2}}}}well{{else}}hurt{{/if}}", environment) == "well"
```

An `Environment` holds all that macros can see: the names and the `GroupNames`, `CardFields`, `ChatLine`s,
`MacroSettings`, `ModelState`, `AuthorsNotes`, outlets, the clock, the zone and the locale, a source of chance, and
the variables. Macros change its variables and its list of banned words, nothing else. A template is parsed once and
kept by its text. Text without `{{`, `<` and `\\` is returned as it is.

## Problems and limits

A call that cannot be answered stays as text. Each such call is a `MacroProblem` (code, name, position), given to
`on_problem`; `problem.error()` is the same as an exception.

| code | what happened | error |
|---|---|---|
| `unknown_macro` | no macro has that name | `UnknownMacroError` |
| `macro_syntax` | a call without its end, or with wrong arguments | `MacroSyntaxError` |
| `unconsumed_macro` | a tag without a partner, or a placeholder that came out of a value | `UnconsumedMacroError` |
| `macro_limit` | the text cost too much and was left as it is | `MacroError` |

```python
from tavernkit.sillytavern.macros import Environment, ParserMacros

problems = []
assert ParserMacros("1.19").expand("Hi {{nobody}}", Environment(), on_problem=problems.append) == "Hi {{nobody}}"
assert [(problem.code, problem.name, problem.position) for problem in problems] == [("unknown_macro", "nobody", 3)]
```

`MacroLimits` bounds nesting, steps, the characters put together and those read again.

## Macros of your own

A macro is a function of the `MacroExpansion` and of its arguments, all text. An engine's `registry` is its own
`MacroDefinitions` in front of the shared one; `tavernkit.on_load("sillytavern.macros", hook)` gives the hook the
registries that all engines share, by version, as `shared_registry` does. A macro that cannot answer raises
`MacroFailure`.

```python
from tavernkit.sillytavern.macros import Environment, MacroExpansion, MacroArgument, ParserMacros


def shout(expansion: MacroExpansion, text: str) -> str:
    return text.upper() + "!"


engine = ParserMacros("1.19")
engine.registry.register("shout", shout, arguments=(MacroArgument(name="text"),))
assert engine.expand("{{shout::{{user}}}}", Environment(user_name="Robin")) == "ROBIN!"
```

`register` takes the fields of a `MacroDefinition`: `arguments`, `takes_list`, `strict`, `delayed`, `aliases` (each an
`Alias`), `returns`, `category`, `description`.

## Reference

Arguments in brackets may be left out; `…` stands for any number. Names in parentheses are other names for the same
macro. In 1.15 names depend on case, since then they do not. `1.19` marks what 1.15 does not have.
"""


def render_reference() -> str:
    """The whole page."""
    old = {definition.name: definition for definition in built_in_macros("1.15")}
    lines = [_INTRODUCTION]
    definitions = list(built_in_macros("1.19"))
    for category, title in _TOPICS.items():
        lines += [f"### {title}", "", "| macro | meaning | since |", "|---|---|---|"]
        lines += [
            _row(definition, is_new=definition.name not in old)
            for definition in definitions
            if definition.category == category
        ]
        lines.append("")
    return "\n".join(lines)


def _row(definition: MacroDefinition, *, is_new: bool) -> str:
    call = "".join(f"::{_argument(argument)}" for argument in definition.arguments)
    if definition.takes_list:
        call += "::…"
    others = ", ".join(f"`{alias.name}`" for alias in definition.aliases)
    name = f"`{{{{{definition.name}{call}}}}}`" + (f" ({others})" if others else "")
    return f"| {name} | {definition.description} | {'1.19' if is_new else '1.15'} |"


def _argument(argument: MacroArgument) -> str:
    return f"[{argument.name}]" if argument.optional else argument.name


if __name__ == "__main__":
    sys.stdout.write(render_reference())
