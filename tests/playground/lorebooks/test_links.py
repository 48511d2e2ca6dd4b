"""Books in use, and which of them take part in a prompt."""

import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from tavernkit.lore import Book
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, SpaceMembership
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.lorebooks.documents import LinkPlace, NewLink
from tavernkit.playground.story.lorebooks.links import attach_lorebook, detach_lorebook, lorebooks_at
from tavernkit.playground.story.lorebooks.queries import BookCache, BooksInPlay, books_for
from tavernkit.playground.story.lorebooks.service import add_entry, import_lorebook
from tavernkit.playground.story.personas.documents import NewPersona
from tavernkit.playground.story.personas.service import create_persona, import_personas
from tavernkit.playground.story.spaces.service import create_space
from tests.characters import card_files
from tests.playground.characters.builders import brought
from tests.playground.chatfiles.moving import bring_in, lines
from tests.playground.lorebooks.test_files import imported
from tests.playground.stories import Story, open_story
from tests.playground.support.counting import counted_statements
from tests.playground.support.refusals import refusal_of
from tests.playground.support.web import api_client, browser

pytestmark = pytest.mark.anyio


def world(name: str) -> dict[str, Any]:
    return {"name": name, "entries": {"0": {"uid": 0, "key": ["a"], "content": name}}}


async def linked(play: Story, **place: UUID) -> list[str]:
    found = await lorebooks_at(play.runtime, viewer(play), LinkPlace(**place))
    return [name for _, name in found]


def card(world: str, **fields: Any) -> bytes:
    return json.dumps(card_files.v3(extensions={"world": world}, **fields)).encode()


def chat(world: str) -> str:
    return lines({"chat_metadata": {"world_info": world}, "user_name": "a", "character_name": "b"}, {"mes": "Hm."})


async def test_the_book_that_a_card_or_a_chat_names_is_linked_where_the_book_is_there_first(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        await imported(play, world("Wood"))
        brought_in = await brought(play, card("Wood"))
        assert await linked(play, character_id=brought_in.character.id) == ["Wood"]
        assert "The lorebook Wood is linked to this character." in brought_in.notes
        conversation = await bring_in(play, chat("Wood"))
        assert await linked(play, conversation_id=conversation.id) == ["Wood"]
        other = await bring_in(play, chat("Sea"))
        assert await linked(play, conversation_id=other.id) == []
        ((link, _),) = await lorebooks_at(play.runtime, viewer(play), LinkPlace(character_id=brought_in.character.id))
        await detach_lorebook(play.runtime, viewer(play), link.id)
        await brought(play, card("Wood", description="Newer."))
        assert await linked(play, character_id=brought_in.character.id) == []


async def test_the_book_that_a_card_a_chat_or_a_persona_names_is_linked_where_the_book_comes_later(
    database_url: str, tmp_path: Path
) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        name = 'W\u00f6\u00f6d "50%"'
        character = (await brought(play, card(name))).character
        other = (await brought(play, card("Wood", name="Another"))).character
        conversation = await bring_in(play, chat(name))
        backup = {"personas": {"a.png": "Sam"}, "persona_descriptions": {"a.png": {"lorebook": name}}}
        personas = await import_personas(play.runtime, viewer(play), json.dumps(backup).encode())
        outcome = await import_lorebook(play.runtime, viewer(play), json.dumps(world(name)).encode())
        assert outcome[1].notes[-1].message == "linked at 3 places whose files name this book"
        assert await linked(play, character_id=character.id) == [name]
        assert await linked(play, conversation_id=conversation.id) == [name]
        assert await linked(play, persona_id=personas[0][0].id) == [name]
        assert await linked(play, character_id=other.id) == []
        await imported(play, world(name))
        assert await linked(play, character_id=character.id) == [name]


class Places:
    """The five places of a story where books are used."""

    def __init__(self, conversation: Conversation, speaker: SpaceMembership, persona_id: UUID, owner_id: UUID) -> None:
        self.conversation = conversation
        self.speaker = speaker
        self.persona_id = persona_id
        self.owner_id = owner_id

    @classmethod
    async def of(cls, play: Story) -> "Places":
        persona = await create_persona(play.runtime, viewer(play), NewPersona(name="Sam"))
        async with play.runtime.database.read() as session:
            conversation = await session.get_one(Conversation, play.conversation_id)
            speaker = (await session.scalars(select(SpaceMembership).where(SpaceMembership.kind == "character"))).one()
        return cls(conversation, speaker, persona.id, play.user_id)

    def all(self) -> dict[str, UUID | None]:
        return {
            "space_id": self.conversation.space_id,
            "conversation_id": self.conversation.id,
            "character_id": self.speaker.character_id,
            "persona_id": self.persona_id,
            "user_id": self.owner_id,
        }

    async def books(self, play: Story, cache: BookCache) -> BooksInPlay:
        async with play.runtime.database.read() as session:
            return await books_for(session, self.conversation, self.speaker, persona_id=self.persona_id, cache=cache)


def viewer(play: Story) -> Viewer:
    return Viewer(user_id=play.user_id, role="administrator")


def names(books: tuple[Book, ...]) -> list[str | None]:
    return [book.name for book in books]


async def test_books_take_part_by_where_they_are_used(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        places, cache = await Places.of(play), BookCache()
        for column, place in places.all().items():
            for name in (f"{column} 1", f"{column} 2"):
                book = await imported(play, world(name))
                await attach_lorebook(
                    play.runtime, viewer(play), NewLink.model_validate({"lorebook_id": book.id, column: place})
                )
        with counted_statements(play.runtime.database) as sent:
            found = await places.books(play, cache)
        assert len(sent) == 4
        assert names(found.everywhere) == ["user_id 1", "user_id 2", "space_id 1", "space_id 2"]
        assert names(found.chat) == ["conversation_id 1", "conversation_id 2"]
        assert names(found.character) == ["character_id 1", "character_id 2"]
        assert names(found.persona) == ["persona_id 1", "persona_id 2"]
        assert found.chat[0].entries[0].content == "conversation_id 1"
        with counted_statements(play.runtime.database) as sent:
            again = await places.books(play, cache)
        assert len(sent) == 3
        assert again.chat[0] is found.chat[0]


async def test_a_changed_book_is_read_anew_and_the_cards_own_one_is_there(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        places, cache = await Places.of(play), BookCache()
        book = await imported(play, world("A"))
        link = NewLink(lorebook_id=book.id, conversation_id=places.conversation.id)
        await attach_lorebook(play.runtime, viewer(play), link)
        assert len((await places.books(play, cache)).chat[0].entries) == 1
        await add_entry(play.runtime, viewer(play), book.id, {"content": "New."})
        assert [entry.content for entry in (await places.books(play, cache)).chat[0].entries] == ["A", "New."]
        async with play.runtime.database.write() as session:
            card = await session.get_one(Character, places.speaker.character_id)
            own = {"name": "Own", "entries": [{"keys": ["k"], "content": "Mine.", "enabled": True}]}
            card.data = {**card.data, "data": {**card.data["data"], "character_book": own}}
            card.version += 1
        found = await places.books(play, cache)
        assert (names(found.of_character), found.own == found.of_character[-1]) == (["Own"], True)


async def test_two_books_of_one_name_are_two(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        places = await Places.of(play)
        for _ in range(2):
            book = await imported(play, world("Same"))
            link = NewLink(lorebook_id=book.id, conversation_id=places.conversation.id)
            await attach_lorebook(play.runtime, viewer(play), link)
        found = names((await places.books(play, BookCache())).chat)
        assert found[0] == "Same"
        assert len(set(found)) == 2


async def test_links_are_ordered_switched_and_ended(database_url: str, tmp_path: Path) -> None:
    async with (
        open_story(database_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        places = await Places.of(play)
        space = {"space_id": str(places.conversation.space_id)}
        books = [await imported(play, world(name)) for name in "abc"]
        made = [
            (await api.post("/lorebook_links", json={"lorebook_id": str(book.id), **space})).json() for book in books
        ]
        twice = await api.post("/lorebook_links", json={"lorebook_id": str(books[0].id), **space})
        assert twice.json()["id"] == made[0]["id"]
        await api.patch(f"/lorebook_links/{made[2]['id']}", json={"position": 0})
        await api.patch(f"/lorebook_links/{made[0]['id']}", json={"enabled": False})
        listed = (await api.get("/lorebook_links", params=space)).json()
        assert [(link["lorebook_name"], link["enabled"]) for link in listed] == [
            ("c", True), ("a", False), ("b", True)
        ]  # fmt: skip
        assert names((await places.books(play, BookCache())).everywhere) == ["c", "b"]
        assert (await api.delete(f"/lorebook_links/{made[2]['id']}")).status_code == 204
        await api.delete(f"/lorebooks/{books[1].id}")
        left = (await api.get("/lorebook_links", params=space)).json()
        assert [link["lorebook_name"] for link in left] == ["a"]
        for wrong in ({}, {**space, "persona_id": str(places.persona_id)}):
            assert (await api.get("/lorebook_links", params=wrong)).status_code == 422
            assert (
                await api.post("/lorebook_links", json={"lorebook_id": str(books[0].id), **wrong})
            ).status_code == 422


async def test_a_book_in_all_stories_is_attached_beside_a_chat(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play, browser(play.runtime, play.user_id) as web:
        book = await imported(play, world("Sea"))
        lore = f"/conversations/{play.conversation_id}/panel/lore"
        assert '<option value="everywhere">All stories</option>' in (await web.get(lore)).text
        await web.post(lore, data={"lorebook_id": str(book.id), "place": "everywhere"})
        assert await linked(play, user_id=play.user_id) == ["Sea"]
        assert re.search(r'book-place"><span dir="auto">All stories</span>', (await web.get(lore)).text)
        other = await create_space(play.runtime, play.viewer)
        assert "Sea" in (await web.get(f"/conversations/{other.conversation.id}/panel/lore")).text
        ((link, _),) = await lorebooks_at(play.runtime, viewer(play), LinkPlace(user_id=play.user_id))
        await web.post(f"{lore}/{link.id}", data={"enabled": "false"})
        places = await Places.of(play)
        assert (await places.books(play, BookCache())).everywhere == ()
        await web.post(f"{lore}/{link.id}/detach")
        assert await linked(play, user_id=play.user_id) == []


async def test_nobody_uses_books_in_the_stories_of_others(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        book = await imported(play, world("Sea"))
        new = NewLink(lorebook_id=book.id, user_id=uuid4())
        assert (await refusal_of(attach_lorebook(play.runtime, viewer(play), new))).code == "not_found"


async def test_nobody_uses_books_where_they_may_not(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        places = await Places.of(play)
        book = await imported(play, world("A"))
        stranger = Viewer(user_id=uuid4())
        for column, place in places.all().items():
            new = NewLink.model_validate({"lorebook_id": book.id, column: place})
            outcome = await refusal_of(attach_lorebook(play.runtime, stranger, new))
            assert outcome.code == "not_found"
            assert LinkPlace(**{column: place}).as_columns()[column] == place
