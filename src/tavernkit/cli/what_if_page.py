"""The report of `tavernkit what-if`: one HTML file with a chart and a table, that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tavernkit.cli.output import plain
from tavernkit.cli.what_if import COLUMNS, cells
from tavernkit.prompt.what_if import TriedTurn, WhatIfReport

WIDTH, HEIGHT = 900, 240

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>What if</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #000;
  background: #fff }
svg { width: 100%; height: auto; border-bottom: 1px solid #666 }
.before { fill: #9aa4b2 }
.after { fill: #2563eb }
.wrap { overflow-x: auto }
table { border-collapse: collapse; font-size: 14px }
th, td { border: 1px solid #ccc; padding: .25rem .5rem; text-align: left }
</style>
</head>
<body>
<h1>What if</h1>
"""


def page(report: WhatIfReport) -> bytes:
    """The report, in UTF-8."""
    sentence = (
        f"{report.changed} of {len(report.turns)} prompts change. Tokens: {report.before.tokens:,} before, "
        f"{report.after.tokens:,} after. {report.gained} entries gained, {report.lost} lost."
    )
    head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
    rows = "\n".join(map(_row, report.turns))
    return (
        f"{_HEAD}<p>{escape(sentence)}</p>\n{chart(report)}\n"
        f'<div class="wrap"><table>\n<tr>{head}</tr>\n{rows}\n</table></div>\n</body>\n</html>\n'
    ).encode()


def chart(report: WhatIfReport) -> str:
    """Tokens by turn, before in grey and after in blue."""
    bars = "\n".join(_bars(report))
    label = "Tokens of each prompt: before in grey, after in blue"
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">\n{bars}\n</svg>'


def _bars(report: WhatIfReport) -> Iterator[str]:
    changes = [(turn.number, turn.change) for turn in report.turns if turn.change is not None]
    most = max((max(change.before.tokens, change.after.tokens) for _, change in changes), default=1) or 1
    step = WIDTH / max(len(changes), 1)
    for place, (number, change) in enumerate(changes):
        for side, kind, tokens in ((0, "before", change.before.tokens), (1, "after", change.after.tokens)):
            height = round(HEIGHT * tokens / most, 1)
            x = round(step * (place + 0.1 + 0.4 * side), 1)
            yield (
                f'<rect class="{kind}" x="{x}" y="{round(HEIGHT - height, 1)}" width="{round(step * 0.4, 1)}" '
                f'height="{height}"><title>Message {number}, {kind}: {tokens:,} tokens</title></rect>'
            )


def _row(turn: TriedTurn) -> str:
    return f"<tr>{''.join(f'<td>{escape(plain(cell))}</td>' for cell in cells(turn))}</tr>"
