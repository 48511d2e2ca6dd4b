"""A chat as one HTML file for reading and printing: no scripts, nothing from elsewhere, in light and dark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from markupsafe import Markup, escape

from tavernkit.chats import ChatMessage
from tavernkit.chats.dates import EPOCH, milliseconds_of
from tavernkit.chats.forms import ChatForm, shown_text
from tavernkit.chats.pictures import ChatPicture, data_of, shown_pictures
from tavernkit.playground.base.text.markdown import MAX_SHOWN, render_markdown

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --quiet: #5b626b; --line: #d5d9de; --own: #f2f4f7; --paper: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6ea; --quiet: #a0a6af; --line: #3a3f46; --own: #22262b; --paper: #17191c }
}
@media print {
  :root { --ink: #000; --quiet: #444; --line: #bbb; --own: #fff; --paper: #fff }
  h2 { break-after: avoid }
}
body { margin: 0 auto; max-width: 44rem; padding: 2rem 1.25rem; background: var(--paper); color: var(--ink);
  font: 1.0625rem/1.65 Georgia, "Noto Serif", serif; overflow-wrap: anywhere }
article { padding: .75rem 1rem; margin: .75rem 0; border: 1px solid var(--line); border-radius: .5rem }
article.user { background: var(--own) }
article.narrator { border-style: dashed }
article p { margin: .5rem 0 }
h1 { font-size: 1.6rem; line-height: 1.3 }
h2 { display: inline; font: 600 .95rem/1.4 system-ui, sans-serif }
time, figcaption { color: var(--quiet); font: .8125rem/1.4 system-ui, sans-serif; margin-inline-start: .5rem }
q { quotes: none; font-weight: 500 }
pre, table { overflow-x: auto }
td, th { border: 1px solid var(--line); padding: .2rem .5rem }
img { max-width: 100%; height: auto }
figure { margin: .75rem 0 }
"""
_HEAD = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="referrer" content="no-referrer">
"""


def html_form(title: str) -> ChatForm:
    """What a reader sees, as the page shows it; pictures that a message has are inside the file."""
    name = escape(title)
    return ChatForm(
        opening=f'{_HEAD}<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1 dir="auto">{name}</h1>\n',
        write=_article,
        closing="</body>\n</html>\n",
    )


def _article(message: ChatMessage) -> str:
    text = shown_text(message)
    pictures = () if message.is_system else shown_pictures(message.extra)
    if not text and not pictures:
        return ""
    role = "narrator" if message.is_narrator else "user" if message.is_user else "character"
    # A page cuts what no browser could lay out quickly; a file has all of it.
    shown = Markup("\n").join(
        render_markdown(text[start : start + MAX_SHOWN]) for start in range(0, len(text), MAX_SHOWN)
    )
    figures = "".join(map(_figure, pictures))
    return (
        f'<article class="{role}">\n<h2 dir="auto">{escape(message.name)}</h2>{_time(message)}\n'
        f'<div dir="auto">{shown}</div>\n{figures}</article>\n'
    )


def _time(message: ChatMessage) -> str:
    milliseconds = milliseconds_of(message.send_date)
    try:
        moment = None if milliseconds is None else EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        moment = None
    return "" if moment is None else f'<time datetime="{_iso(moment)}">{moment:%Y-%m-%d %H:%M} UTC</time>'


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _figure(picture: ChatPicture) -> str:
    """The picture itself if the chat has it, else its name."""
    if data_of(picture.url) is None:
        return f'<figure><figcaption dir="auto">{escape(picture.title or picture.url[:500])}</figcaption></figure>\n'
    return f'<figure><img src="{escape(picture.url)}" alt="{escape(picture.title)}"></figure>\n'
