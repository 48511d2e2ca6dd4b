"""The reports of `tavernkit explain` and `tavernkit diff`: one HTML file each, that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tavernkit.cli.output import plain
from tavernkit.prompt.comparing import PromptComparison, TextChange, TextRange
from tavernkit.prompt.sources import ExplainedMessage, Explanation

COLOURS = {
    "card": "#fde2c8",
    "persona": "#f9d5e5",
    "preset": "#d6e6fb",
    "template": "#e4e4e7",
    "chat": "#e2d9f3",
    "injection": "#d9ead3",
    "lore": "#cdeeda",
    "history": "#ffffff",
    "artifact": "#fff2b3",
    "macro": "#fbc8c4",
    "regex": "#c9eef1",
    "trigger": "#e8d8c3",
    "block": "#f2f2f2",
}
"""The background of a text by the kind of its source; the letters on it are black."""

CONTEXT = 60
"""How many characters of what has not changed stand around a change."""

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{
  font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #000; background: #fff
}}
pre {{
  white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #ccc; padding: .75rem;
  font: 14px/1.6 ui-monospace, monospace
}}
span {{ box-shadow: inset 0 -1px 0 #0003 }}
ul {{ display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0 }}
li {{ border: 1px solid #0003; padding: 0 .5rem }}
table {{ border-collapse: collapse; overflow-wrap: anywhere }}
th, td {{ border: 1px solid #ccc; padding: .25rem .5rem; text-align: left; vertical-align: top }}
del {{ background: #fbd5d5 }}
ins {{ background: #d3f2d9 }}
{styles}
</style>
</head>
<body>
<h1>{heading}</h1>
"""


def page(explanation: Explanation) -> bytes:
    """The report on a prompt, in UTF-8."""
    used = dict.fromkeys(span.source.kind for message in explanation.messages for span in message.spans)
    kinds = [kind for kind in COLOURS if kind in used]
    styles = "\n".join(f".{kind} {{ background: {COLOURS[kind]} }}" for kind in kinds)
    legend = "\n".join(f'<li class="{kind}">{kind}</li>' for kind in kinds)
    body = [f"<p>{explanation.coverage}</p>\n<ul>\n{legend}\n</ul>", *map(_message, explanation.messages)]
    for heading, columns, rows in left_out_tables(explanation):
        body.append(f"<h2>{heading}</h2>\n{_table(columns, rows)}")
    return _document("Prompt explained", "Where this prompt comes from", styles, body)


def comparison_page(comparison: PromptComparison, before: Explanation, after: Explanation) -> bytes:
    """The report on what has changed between two prompts, in UTF-8."""
    causes = _table(("cause", "changes"), causes_counted(comparison)) if comparison.changes else "<p>No changes.</p>"
    body = [causes, *(_change(change, before, after) for change in comparison.changes)]
    return _document("Prompts compared", "What has changed in this prompt", "", body)


def causes_counted(comparison: PromptComparison) -> list[tuple[str, int]]:
    """Each cause with how many changes come from it."""
    counts: dict[str, int] = {}
    for change in comparison.changes:
        counts[change.cause] = counts.get(change.cause, 0) + 1
    return list(counts.items())


def left_out_tables(
    explanation: Explanation,
) -> Iterable[tuple[str, Sequence[str], Sequence[Sequence[str | int]]]]:
    """What is not in a prompt: a heading, columns and rows for each kind."""
    silent = [(entry.title, entry.book, entry.sentence) for entry in explanation.lore if not entry.is_activated]
    silent += [(f"{one.count} more", "", one.reason) for one in explanation.lore_cut]
    if silent:
        yield "Lore entries that are not activated", ("entry", "lorebook", "why"), silent
    if explanation.evicted:
        evicted = [
            (block.source, block.tokens, "" if block.short_by is None else f"{block.short_by:,}", block.sentence)
            for block in explanation.evicted
        ]
        yield "Not sent", ("what", "tokens", "too many by", "why"), evicted
    if explanation.off:
        off = [(prompt.name or prompt.identifier, prompt.sentence) for prompt in explanation.off]
        yield "Prompts that are off", ("prompt", "why"), off


def around(explanation: Explanation, place: TextRange | None) -> tuple[str, str]:
    """What stands before and behind a change."""
    if place is None:
        return "", ""
    content = explanation.messages[place.message].content
    start = max(0, place.start - CONTEXT)
    before, behind = content[start : place.start], content[place.end : place.end + CONTEXT]
    return ("…" if start else "") + before, behind + ("…" if place.end + CONTEXT < len(content) else "")


def _change(change: TextChange, before: Explanation, after: Explanation) -> str:
    lead, rest = around(*((before, change.before) if change.after is None else (after, change.after)))
    old = f"<del>{_escaped(change.removed)}</del>" if change.removed else ""
    new = f"<ins>{_escaped(change.added)}</ins>" if change.added else ""
    also = "".join(f"; {cause.sentence}" for cause in change.also)
    told = f"{change.role}, {change.kind}: {change.source}{also}"
    text = f"{_escaped(lead)}{old}{new}{_escaped(rest)}"
    return f"<h2>{_escaped(change.cause)}</h2>\n<p>{_escaped(told)}</p>\n<pre>{text}</pre>"


def _document(title: str, heading: str, styles: str, body: Iterable[str]) -> bytes:
    head = _HEAD.format(title=title, heading=heading, styles=styles)
    return (head + "\n".join(body) + "\n</body>\n</html>\n").encode("utf-8", "replace")


def _table(columns: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    heads = "".join(f"<th>{column}</th>" for column in columns)
    lines = ("".join(f"<td>{_escaped(str(cell))}</td>" for cell in row) for row in rows)
    return f"<table>\n<tr>{heads}</tr>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"


def _message(message: ExplainedMessage) -> str:
    spans = "".join(
        f'<span class="{span.source.kind}" title="{_escaped(str(span.source))}">{_escaped(span.text)}</span>'
        for span in message.spans
    )
    return f"<h2>{_escaped(message.role)}</h2>\n<pre>{spans}</pre>"


def _escaped(text: str) -> str:
    return escape(plain(text), quote=True)
