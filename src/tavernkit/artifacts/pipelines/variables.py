"""What templates see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from tavernkit.artifacts.liquid import LazyObject, TextObject
from tavernkit.artifacts.pipelines.context import ChatInfo, RunContext
from tavernkit.artifacts.view import SessionArtifacts
from tavernkit.characters.character import Character, User
from tavernkit.prompt.message import Message

RECENT = 10
"""How many messages `recentMessages` has."""

CARD_TEXTS = (
    *("description", "personality", "scenario", "first_mes", "mes_example"),
    *("system_prompt", "post_history_instructions", "creator_notes"),
)
"""What `char` has of a card, beside its name and tags."""


class ReadNotes(LazyObject):
    """`art`, and which of it was read: a step's log says so."""

    def __init__(self, view: SessionArtifacts) -> None:
        super().__init__(view.art())
        self._view = view
        self._read: set[str] = set()

    def __getitem__(self, tag: str) -> object:
        value = super().__getitem__(tag)
        self.mark_read(tag)
        return value

    def mark_read(self, name: str) -> None:
        self._read.add(name)

    def notes(self) -> tuple[Mapping[str, object], ...]:
        """Each artifact that was read: its tag, version and kind."""
        return tuple(
            {"tag": tag, "version": self._view[tag].current.version, "kind": self._view[tag].artifact.kind}
            for tag in sorted(self._read)
        )


def spoken(messages: Iterable[Message], *, user_message: str, reply: str | None) -> tuple[Message, ...]:
    """What is said as a step sees it: the user's current message in its present wording, and then the reply."""
    said = list(messages)
    last = next((place for place in range(len(said) - 1, -1, -1) if said[place].role == "user"), None)
    if last is not None:
        said[last] = said[last].with_(content=user_message)
    if reply is not None:
        said.append(Message(role="assistant", content=reply))
    return tuple(said)


def template_values(
    context: RunContext, view: SessionArtifacts, art: ReadNotes, *, user_message: str, reply: str | None
) -> dict[str, object]:
    """Every variable. Lists stand where others have functions: `for` takes the end of one with `offset`."""
    messages = spoken(context.messages, user_message=user_message, reply=reply)
    told: list[object] = [{"role": one.role, "content": one.content, "name": one.name} for one in messages]
    replies = (message.content for message in reversed(messages) if message.role == "assistant")
    user = context.user or User(name="")
    return {
        **_card(context.character),
        "user": TextObject({"name": user.name, "persona": user.persona}, text=user.name),
        "persona": user.persona,
        "chat": _chat(context.chat),
        "rag": [],
        "worldInfo": {"activatedCount": 0, "activatedEntries": [], "warnings": []},
        "promptSystem": "",
        **context.values,
        "messages": told,
        "recentMessages": told[-RECENT:],
        "recentMessagesText": "\n\n".join(f"{_speaker(one, context)}: {one.content}" for one in messages[-RECENT:]),
        "lastUserMessage": user_message,
        "rawUserMessage": context.user_message,
        "lastAssistantMessage": next(replies, ""),
        "reply": reply,
        "art": art,
        "run": view.run_values(),
        "now": context.now.isoformat(),
        "turn": context.turn,
        "trigger": context.trigger,
    }


def _card(character: Character | None) -> dict[str, object]:
    card = character or Character(name="")
    texts = {name: getattr(card, name) for name in CARD_TEXTS}
    fields = {"name": card.display_name, **texts, "tags": list(card.tags)}
    return {
        "char": TextObject(fields, text=card.display_name),
        "description": card.description,
        "personality": card.personality,
        "scenario": card.scenario,
        "system": card.system_prompt,
        "mesExamples": card.mes_example,
        "mesExamplesRaw": card.mes_example,
    }


def _chat(chat: ChatInfo | None) -> dict[str, object]:
    about = chat or ChatInfo(id="")
    return {
        "id": about.id,
        "title": about.title,
        "branchId": about.branch_id,
        "createdAt": _time(about.created_at),
        "updatedAt": _time(about.updated_at),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _speaker(message: Message, context: RunContext) -> str:
    if message.name:
        return message.name
    if message.role == "user" and context.user is not None:
        return context.user.name
    if message.role == "assistant" and context.character is not None:
        return context.character.display_name
    return message.role
