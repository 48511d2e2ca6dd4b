"""A small chat at a lighthouse, to be changed where a test needs it otherwise."""

from __future__ import annotations

from typing import Any

from tavernkit.sillytavern.presets import ContextTemplate, Instruct
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.text_completion import TextPrompt, TextScene, assemble_text_prompt
from tavernkit.sillytavern.turns import ChatTurn

CHATML = Instruct(
    enabled=True,
    input_sequence="<user>",
    input_suffix="<end>\n",
    output_sequence="<char>",
    output_suffix="<end>\n",
    system_sequence="<sys>",
    system_suffix="<end>\n",
)
MARKED = CHATML.with_(
    first_input_sequence="<first user>",
    last_input_sequence="<last user>",
    first_output_sequence="<first char>",
    last_output_sequence="<last char>",
    last_system_sequence="<last sys>",
)


def words(text: str) -> int:
    """A tokenizer whose counts a reader can check."""
    return len(text.split())


def expand(text: str) -> str:
    """The two macros that these tests need."""
    return text.replace("{{user}}", "Zed").replace("{{char}}", "Mira")


def turns(*texts: str, start: int = 0) -> tuple[ChatTurn, ...]:
    """Messages in turn, Mira's first."""
    return tuple(
        ChatTurn(index=index, text=text, name="Zed" if index % 2 else "Mira", is_user=bool(index % 2))
        for index, text in enumerate(texts, start)
    )


def settings(instruct: Instruct | None = None, context: dict[str, Any] | None = None, **fields: Any) -> UserSettings:
    template = ContextTemplate(**({"story_string": "{{description}}"} | (context or {})))
    return UserSettings(
        instruct=Instruct(enabled=False) if instruct is None else instruct, context=template, token_padding=0
    ).with_(**fields)


def scene(**fields: Any) -> TextScene:
    given: dict[str, Any] = {
        "settings": settings(),
        "user_name": "Zed",
        "character_name": "Mira",
        "count_tokens": words,
        "expand": expand,
        "turns": turns("Hm?", "Where am I?"),
        "max_context": 1000,
    }
    given |= fields
    chat = given["turns"]
    whole = {"chat_length": len(chat), "last_is_user": bool(chat) and chat[-1].is_user}
    return TextScene(**(whole | given))


def prompt(**fields: Any) -> TextPrompt:
    return assemble_text_prompt(scene(**fields))


def text(**fields: Any) -> str:
    return prompt(**fields).text


def sources(made: TextPrompt) -> list[str]:
    """Where the prompt's text comes from, in its order."""
    return [piece.source for piece in made.pieces if piece.kept]
