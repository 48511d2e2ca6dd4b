"""Conversations to convert: any order of speakers, with names, empty texts, attachments and finished tool calls."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tavernkit.prompt.message import Attachment, Message

__all__ = ["ATTACHMENTS", "conversations"]

NAMES = ("Orrin", "Vesper", "Old Brock", "Zoë 東")

texts = st.one_of(
    st.sampled_from(["", " ", "\n", "Light it.", "p1\n\np2", "𝔖 🙂"]),
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters=":"), max_size=20),
)

IMAGE = Attachment(kind="image", data=b"\x89PNG", detail="low")
IMAGE_URL = Attachment(kind="image", url="https://example.invalid/p.png")
AUDIO = Attachment(kind="audio", mime_type="audio/mpeg", data=b"ID3")
VIDEO = Attachment(kind="video", mime_type="video/mp4", data=b"ftyp")
PDF = Attachment(kind="file", mime_type="application/pdf", data=b"%PDF", name="a.pdf")
NOTE = Attachment(kind="file", mime_type="text/plain", data=b"hello", name="a.txt")
PDF_URL = Attachment(kind="file", mime_type="application/pdf", url="https://example.invalid/a.pdf")

ATTACHMENTS = {
    "openai": (IMAGE, IMAGE_URL, AUDIO, VIDEO, PDF),
    "anthropic": (IMAGE, IMAGE_URL, PDF, NOTE, PDF_URL),
    "google": (IMAGE, AUDIO, VIDEO, PDF),
    "cohere": (IMAGE, IMAGE_URL),
    "ai21": (),
    "mistral": (IMAGE, IMAGE_URL, AUDIO, PDF, PDF_URL),
    "xai": (IMAGE, IMAGE_URL),
    "text": (),
}

_ASSISTANTS_SHOW_PICTURES = ("anthropic", "google")


@st.composite
def conversations(draw: st.DrawFn, dialect: str) -> list[Message]:
    """Messages that the provider of a dialect is able to take."""
    names = st.none() | st.sampled_from(NAMES)
    attachments = _some(ATTACHMENTS[dialect])
    pictures = _some((IMAGE,) if dialect in _ASSISTANTS_SHOW_PICTURES else ())
    system_names = st.sampled_from([None, "example_user", "example_assistant"])
    messages: list[Message] = []
    for kind in draw(st.lists(st.sampled_from(["system", "user", "assistant", "tools"]), max_size=7)):
        match kind:
            case "system":
                messages.append(Message(role="system", content=draw(texts), name=draw(system_names)))
            case "user":
                messages.append(
                    Message(role="user", content=draw(texts), name=draw(names), attachments=draw(attachments))
                )
            case "assistant":
                messages.append(
                    Message(role="assistant", content=draw(texts), name=draw(names), attachments=draw(pictures))
                )
            case _:
                messages.extend(_tool_use(draw, len(messages)))
    return messages


def _some(choices: tuple[Attachment, ...]) -> st.SearchStrategy[tuple[Attachment, ...]]:
    return st.lists(st.sampled_from(choices), max_size=2).map(tuple) if choices else st.just(())


def _tool_use(draw: st.DrawFn, place: int) -> list[Message]:
    count = draw(st.integers(1, 3))
    calls: list[dict[str, Any]] = [
        {
            "id": f"call_{place}_{number}",
            "type": "function",
            "function": {"name": "look", "arguments": draw(st.sampled_from(["{}", '{"a":[1,2.5],"é":null}']))},
        }
        for number in range(count)
    ]
    return [
        Message(role="assistant", content=draw(texts), metadata={"tool_calls": calls}),
        *(Message(role="tool", content=draw(texts), metadata={"tool_call_id": call["id"]}) for call in calls),
    ]
