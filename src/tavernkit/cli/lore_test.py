"""What `lore test` says: which entries a text wakes up, where they go, and why the others do not."""

from __future__ import annotations

from tavernkit.cli.output import Printer
from tavernkit.cli.terminal import shorten
from tavernkit.sillytavern.world_info.trial import LoreTest


def print_test(printer: Printer, test: LoreTest) -> None:
    """Two tables: what fires, and why the rest does not."""
    if test.fired:
        printer.table(
            ("fires", "entry", "position", "order", "tokens", "why"),
            [
                (one.id, shorten(one.name, 30), one.position, str(one.order), str(one.tokens), one.why)
                for one in test.fired
            ],
        )
    else:
        printer.line("Nothing fires.")
    if test.silent:
        printer.line("")
        printer.table(
            ("silent", "entry", "reason", "why"),
            [(one.id, shorten(one.name, 30), one.reason, one.why) for one in test.silent],
        )
    printer.line("")
    entries = len(test.fired) + len(test.silent)
    printer.line(f"{len(test.fired)} of {entries} entries, {test.tokens} of {test.budget} tokens")
    for warning in test.warnings:
        printer.line(warning)
