"""Where the palette leads: pages, stories and characters."""

from __future__ import annotations

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.home import PaletteLink, story_title
from tavernkit.playground.edge.presenting.home_queries import recent_stories
from tavernkit.playground.story.characters.cards import fold

LONGEST_QUESTION = 100
SHOWN = 12
PAGES = (
    ("New story", "Choose who takes part", "/spaces/new"),
    ("Stories", "What was written last", "/"),
    ("Characters", "Everybody you can talk to", "/characters"),
    ("Lorebooks", "What characters know", "/lorebooks"),
    ("Presets", "How prompts are written", "/presets"),
    ("Personas", "Who you are", "/personas"),
    ("Pipelines", "What happens around a reply", "/pipelines"),
    ("Models", "Who answers", "/models"),
    ("Account", "Name, password, keys", "/account"),
)


async def places(runtime: Runtime, viewer: Viewer, question: str) -> list[PaletteLink]:
    """The pages, and the stories and characters whose names have the letters of the question in this order."""
    asked = question[:LONGEST_QUESTION]
    async with runtime.database.read() as session:
        stories = await recent_stories(session, viewer, matching=loosely(asked), limit=SHOWN)
        characters = await _characters(session, viewer, asked)
    return [
        *(PaletteLink(kind="Page", name=name, about=about, address=address) for name, about, address in PAGES),
        *(
            PaletteLink(
                kind="Story",
                name=shown_name(row.space.name),
                about=story_title(row),
                address=f"/conversations/{row.conversation.id}",
            )
            for row in stories
        ),
        *(
            PaletteLink(
                kind="Character",
                name=shown_name(row.name),
                about=shown_name(row.nickname) if row.nickname else "",
                address=f"/characters/{row.id}",
            )
            for row in characters
        ),
    ]


def loosely(question: str) -> str:
    """A pattern for LIKE, with `\\` before what is meant as it is: every letter, with anything between them."""
    letters = (f"\\{letter}" if letter in "\\%_" else letter for letter in question if not letter.isspace())
    return "%" + "".join(f"{letter}%" for letter in letters)


async def _characters(session: AsyncSession, viewer: Viewer, asked: str) -> list[Character]:
    own: ColumnElement[bool] = or_(Character.owner_id == viewer.user_id, Character.owner_id.is_(None))
    named = Character.name_key.like(loosely(fold(asked)), escape="\\")
    found = await session.scalars(
        select(Character)
        .where(own, Character.status == "ready", named)
        .order_by(Character.updated_at.desc(), Character.id)
        .limit(SHOWN)
    )
    return list(found)
