"""The chat as the prompt tells it: examples, the greeting, and the messages after scripts and triggers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tavernkit.prompt.context import Context
from tavernkit.prompt.message import Message
from tavernkit.prompt.parts import lines_joined
from tavernkit.prompt.tracing import labelled, substituted
from tavernkit.risuai.chat import RisuMessage
from tavernkit.risuai.chat_ml import take_thoughts
from tavernkit.risuai.lorebook.decorators import put_in
from tavernkit.risuai.stages.scripts import run_phase, run_scripts
from tavernkit.risuai.stages.tracing import traced_message
from tavernkit.risuai.template.line import HEADER, HEADER_TEXT, Line
from tavernkit.risuai.workbench import Workbench
from tavernkit.text.js_strings import JS_WHITESPACE, js_trim

OPENING = "system"
"""The role of what opens an example."""

NAMED_MESSAGE = "<{{char}}'s Message>\n{{slot}}\n</{{char}}'s Message>"
_INLAY = re.compile(r"\{\{(?:inlay|inlayed|inlayeddata)::.+?\}\}")
_ASSET_PROMPT = re.compile(r"\{\{asset_?prompt::.+?\}\}", re.IGNORECASE | re.DOTALL)


def history(ctx: Context) -> None:
    """Line up the chat and run the `start` triggers, which may change it before its messages are read."""
    bench = ctx.platform(Workbench)
    bench.chats = list(_examples(ctx, bench))
    bench.tokens += bench.costs(bench.chats)
    if not bench.settings.model.startswith("novelai"):
        # RisuAI does not count this one, but gives back its cost when it has to go.
        bench.chats.append(_header(ctx, bench, HEADER))
    if bench.story.greeting is not None and not _is_cut(bench.scene.chat.messages):
        greeting = _greeting(ctx, bench)
        bench.chats.append(greeting)
        bench.tokens += bench.cost(greeting)
    run_phase(ctx, bench, "start")
    for place, message in enumerate(_told(bench.scene.chat.messages)):
        line = _message(ctx, bench, message, place)
        if message.role == "user":
            ctx.user_message = line.source
        bench.chats.append(line)
        bench.tokens += bench.cost(line)


def _examples(ctx: Context, bench: Workbench) -> Iterator[Line]:
    character = bench.character
    examples = bench.from_card(ctx, "example_message")
    for place, (role, content) in enumerate(_split_examples(examples, character.name)):
        if role == OPENING:
            yield _header(ctx, bench, f"{HEADER}Example")
        else:
            text = bench.expand(ctx, content)
            yield bench.line(ctx, role, text, f"example:{place}", name=f"example_{role}", group="examples")


def _header(ctx: Context, bench: Workbench, memo: str) -> Line:
    group = "history" if memo == HEADER else "examples"
    text = bench.written(ctx, HEADER_TEXT, "new chat")
    return bench.line(ctx, "system", text, "new_chat", memo=memo, group=group)


def _greeting(ctx: Context, bench: Workbench) -> Line:
    number = bench.scene.chat.greeting_index
    field = "first_message" if number < 0 else f"alternate_greetings[{number}]"
    greeting = bench.marked(ctx, bench.scene.greeting, bench.of_card(ctx, field))
    text = run_scripts(ctx, bench, bench.expand(ctx, greeting), "editprocess")
    ctx.greeting = str(text)
    named = bench.has_template and bench.settings.prompt.send_name
    return bench.line(
        ctx,
        "assistant",
        labelled(bench.character.name, text) if named else text,
        "greeting",
        has_name_in_text=named,
        group="history",
    )


def _is_cut(messages: Sequence[RisuMessage]) -> bool:
    return any(message.disabled == "allBefore" for message in messages)


def _told(messages: Sequence[RisuMessage]) -> list[RisuMessage]:
    """The messages that are told: without disabled ones, and only those behind one that cuts off all before it."""
    told: list[RisuMessage] = []
    for message in reversed(messages):
        if message.disabled == "allBefore":
            break
        if not message.disabled:
            told.append(message)
    return told[::-1]


def _message(ctx: Context, bench: Workbench, message: RisuMessage, place: int) -> Line:
    text = bench.expand(ctx, traced_message(ctx, bench, message), role=message.role, quietly=True)
    text = run_scripts(ctx, bench, text, "editprocess", chat_index=place, chat_role=message.role)
    text = substituted(_INLAY, _nothing, text)
    role = "user" if message.role == "user" else "assistant"
    if bench.has_template and bench.settings.prompt.send_name:
        format = bench.from_settings(ctx, "named_message") or bench.written(ctx, NAMED_MESSAGE, "named message")
        text = put_in(bench.expand(ctx, format), "{{slot}}", text)
        role = bench.settings.named_message_role
        role = role if role in ("user", "system") else "assistant"
    text, thoughts = take_thoughts(text)
    source, said = bench.said.get(message.id or "", (None, Message(role=role)))
    return bench.line(
        ctx,
        role,
        substituted(_ASSET_PROMPT, _nothing, text),
        source or f"trigger:message:{place}",
        slot="history",
        memo=message.id or f"trigger-{place}",
        thoughts=thoughts,
        attachments=said.attachments if role == "user" else (),
        message_metadata={key: said.metadata[key] for key in ("id",) if key in said.metadata},
        group="history",
    )


def _split_examples(text: str, character_name: str) -> list[tuple[str, str]]:
    """Cut examples into roles and messages: `<START>` opens a dialogue, a line that names its speaker a message.

    What RisuAI does not do is not done here either: behind a second colon the rest of a line is lost, and a
    character's own name is known only when it is written in small letters.
    """
    found: list[tuple[str, str]] = []
    for written in text.split("\n") if text else ():
        line = js_trim(written)
        lowered = line.lower()
        if lowered == "<start>":
            found.append((OPENING, ""))
        elif role := _speaker(lowered, character_name):
            found.append((role, line.split(":")[1].lstrip(JS_WHITESPACE)))
        elif found and found[-1][0] != OPENING:
            role, content = found[-1]
            found[-1] = role, lines_joined((content, line))
    return found


def _nothing(_: re.Match[str]) -> str:
    return ""


def _speaker(line: str, character_name: str) -> str | None:
    if line.startswith(("{{char}}:", "<bot>:", f"{character_name}:")):
        return "assistant"
    return "user" if line.startswith(("{{user}}:", "<user>:")) else None
