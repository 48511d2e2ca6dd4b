"""The report of `tavernkit explain`: one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape

from tavernkit.cli.output import plain
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

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Prompt explained</title>
<style>
body {
  font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #000; background: #fff
}
pre {
  white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #ccc; padding: .75rem;
  font: 14px/1.6 ui-monospace, monospace
}
span { box-shadow: inset 0 -1px 0 #0003 }
ul { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0 }
li { border: 1px solid #0003; padding: 0 .5rem }
"""


def page(explanation: Explanation) -> bytes:
    """The report, in UTF-8."""
    used = dict.fromkeys(span.source.kind for message in explanation.messages for span in message.spans)
    kinds = [kind for kind in COLOURS if kind in used]
    styles = "\n".join(f".{kind} {{ background: {COLOURS[kind]} }}" for kind in kinds)
    legend = "\n".join(f'<li class="{kind}">{kind}</li>' for kind in kinds)
    messages = "\n".join(map(_message, explanation.messages))
    return (
        f"{_HEAD}{styles}\n</style>\n</head>\n<body>\n<h1>Where this prompt comes from</h1>\n"
        f"<p>{explanation.coverage}</p>\n<ul>\n{legend}\n</ul>\n{messages}\n</body>\n</html>\n"
    ).encode()


def _message(message: ExplainedMessage) -> str:
    spans = "".join(
        f'<span class="{span.source.kind}" title="{_escaped(str(span.source))}">{_escaped(span.text)}</span>'
        for span in message.spans
    )
    return f"<h2>{_escaped(message.role)}</h2>\n<pre>{spans}</pre>"


def _escaped(text: str) -> str:
    return escape(plain(text), quote=True)
