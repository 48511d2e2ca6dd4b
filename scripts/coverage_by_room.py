"""Print how much of each room the tests run, from the data that `make coverage` has combined, as a table."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

PACKAGE = "src/tavernkit/"
FIELDS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def room(file: str) -> str:
    """The folder below the package, two levels deep in the application: `lore`, `playground/story/runs`."""
    folders = file.rpartition(PACKAGE)[2].split("/")[:-1]
    return "/".join(folders[: 3 if folders[:1] == ["playground"] else 1]) or "tavernkit"


def main(report: Path) -> None:
    """Write a row for each room: statements, those that ran, and branches likewise."""
    counted: dict[str, Counter[str]] = {}
    for file, found in json.loads(report.read_text())["files"].items():
        for name in (room(file), "all"):
            counted.setdefault(name, Counter()).update({field: found["summary"][field] for field in FIELDS})
    print("| room | statements | run | branches | taken |\n|---|---|---|---|---|")
    for name, sums in sorted(counted.items(), key=lambda pair: (pair[0] == "all", pair[0])):
        lines = _share(sums["covered_lines"], sums["num_statements"])
        branches = _share(sums["covered_branches"], sums["num_branches"])
        print(f"| `{name}` | {sums['num_statements']:,} | {lines} | {sums['num_branches']:,} | {branches} |")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
