"""A story of a few turns, in which a lorebook is in use."""

from __future__ import annotations

import json
from typing import Any

from tavernkit.playground.story.lorebooks.documents import NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import import_lorebook
from tests.playground.prompting.prompt_story import PromptStory

__all__ = ["CARD", "ENTRIES", "TALK", "tell", "world"]

ENTRIES: list[dict[str, Any]] = [
    {"uid": 0, "key": ["harbour"], "content": "The harbour freezes in winter.", "comment": "Harbour"},
    {"uid": 1, "key": ["ferry"], "content": "The ferry is late.", "comment": "Ferry", "sticky": 2},
]
CARD = {"description": "{{char}} keeps a ledger.", "personality": "Patient."}
TALK = ["Is the harbour open?", "And the weather?", "Is the ferry here?", "And now?", "Good night."]


def world(*entries: dict[str, Any], name: str = "Coast") -> dict[str, Any]:
    return {"name": name, "entries": {str(entry["uid"]): entry for entry in entries}}


async def tell(story: PromptStory) -> None:
    """Say it all, and have it answered."""
    file = json.dumps(world(*ENTRIES)).encode()
    book, _ = await import_lorebook(story.runtime, story.viewer, file, name="Coast")
    await attach_lorebook(story.runtime, story.viewer, NewLink(lorebook_id=book.id, user_id=story.user_id))
    await story.set(world_info={"depth": 1})
    for text in TALK:
        await story.say_as("Robin", text)
        run = await story.answered("Ada")
        assert run.status == "succeeded"
