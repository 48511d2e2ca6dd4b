"""`tavernkit extensions`, and loading them for the commands that read files and build prompts."""

from __future__ import annotations

import os

from tavernkit.cli.output import JsonOption, Printer, present
from tavernkit.extensions import Extension, load_extensions

SETTING = "TAVERNKIT_EXTENSIONS"
USED_BY = frozenset({"build", "card", "chat", "explain", "lore", "prompt", "replay", "tokens", "what-if"})
"""The commands that extensions may add to; the application loads them itself."""

KINDS = {
    "macros": "SillyTavern macros",
    "functions": "CBS functions",
    "dialects": "dialects",
    "estimators": "token estimators",
    "hooks": "build hooks",
    "importers": "importers",
    "steps": "pipeline steps",
    "step_functions": "step functions",
}


def use_extensions() -> tuple[Extension, ...]:
    """Load what is installed and what the setting names."""
    return load_extensions(name.strip() for name in os.environ.get(SETTING, "").split(",") if name.strip())


def list_extensions(as_json: JsonOption = False) -> None:
    """Load all extensions, and list what each has registered."""
    extensions = use_extensions()
    present(list(extensions), lambda printer: _show(printer, extensions), as_json=as_json)


def _show(printer: Printer, extensions: tuple[Extension, ...]) -> None:
    if not extensions:
        printer.line(f"No extension is installed, and {SETTING} names none.")
    for extension in extensions:
        printer.line(f"{extension.name} ({extension.package or extension.module})", style="bold")
        for kind, title in KINDS.items():
            printer.pair(f"  {title}", ", ".join(extension.registered[kind]))
