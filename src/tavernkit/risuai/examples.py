"""A character's example dialogues, as messages that stand before the chat."""

from __future__ import annotations

from tavernkit.text.js_strings import JS_WHITESPACE, js_trim
from tavernkit.values import Value


class Example(Value, frozen=True, kw_only=True):
    """One message of an example, or the opening of one, which has the role `system`."""

    role: str
    content: str = ""


def split_examples(text: str, character_name: str) -> list[Example]:
    """Cut a text of examples into messages: `<START>` opens a dialogue, a line that names its speaker a message.

    What RisuAI does not do is not done here either: behind a second colon the rest of a line is lost, and a
    character's own name is known only when it is written in small letters.
    """
    found: list[Example] = []
    current: Example | None = None
    for written in text.split("\n") if text else ():
        line = js_trim(written)
        lowered = line.lower()
        if lowered == "<start>":
            found += () if current is None else (current,)
            found.append(Example(role="system"))
            current = None
        elif role := _speaker(lowered, character_name):
            found += () if current is None else (current,)
            current = Example(role=role, content=line.split(":")[1].lstrip(JS_WHITESPACE))
        elif current is not None:
            current = current.with_(content=f"{current.content}\n{line}")
    if current is not None:
        found.append(current)
    return found


def _speaker(line: str, character_name: str) -> str | None:
    if line.startswith(("{{char}}:", "<bot>:", f"{character_name}:")):
        return "assistant"
    return "user" if line.startswith(("{{user}}:", "<user>:")) else None
