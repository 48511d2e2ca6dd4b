"""Chats as books: a ZIP that every reader of EPUB opens, with everything that it names in it."""

from __future__ import annotations

import posixpath
import zipfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.chats import ChatFile, ChatMessage
from tavernkit.playground.story.books.chapters import ChapterRule, Chapters
from tavernkit.playground.story.books.epub import PART_CHARACTERS, book_of_file
from tests.playground.characters.builders import picture
from tests.playground.chatfiles.moving import bring_in, lines
from tests.playground.chatfiles.test_formats import PIXEL
from tests.playground.prompting.prompt_story import prompt_story
from tests.playground.scripts.test_display import keep, script
from tests.playground.stories import open_story
from tests.playground.support.web import api_client

X = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "o": "http://www.idpf.org/2007/opf",
    "d": "http://purl.org/dc/elements/1.1/",
    "h": "http://www.w3.org/1999/xhtml",
}
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class OpenBook:
    """A book as a reader opens it; what no reader could open fails the test."""

    def __init__(self, data: bytes) -> None:
        self.zip = zipfile.ZipFile(BytesIO(data))
        assert self.zip.testzip() is None
        first = self.zip.infolist()[0]
        assert (first.filename, first.compress_type, first.extra, first.flag_bits) == ("mimetype", 0, b"", 0)
        assert data[30:58] == b"mimetypeapplication/epub+zip"
        (root,) = self._xml("META-INF/container.xml").iterfind(".//c:rootfile", X)
        package = self._xml(root.attrib["full-path"])
        base = posixpath.dirname(root.attrib["full-path"])
        self.title = package.findtext(".//d:title", namespaces=X)
        self.creators = [one.text for one in package.iterfind(".//d:creator", X)]
        assert package.findtext(".//d:identifier", namespaces=X)
        assert package.findtext(".//d:language", namespaces=X)
        items = {item.attrib["id"]: item for item in package.iterfind(".//o:item", X)}
        places = [posixpath.join(base, item.attrib["href"]) for item in items.values()]
        assert len(set(places)) == len(places)
        others = {"mimetype", "META-INF/container.xml", root.attrib["full-path"]}
        assert sorted(self.zip.namelist()) == sorted({*places, *others})
        spine = [items[one.attrib["idref"]].attrib["href"] for one in package.iterfind(".//o:itemref", X)]
        self.pages = [self._page(posixpath.join(base, place)) for place in spine]
        (nav,) = [item for item in items.values() if item.get("properties") == "nav"]
        contents = self._page(posixpath.join(base, nav.attrib["href"]))
        self.chapters = ["".join(link.itertext()) for link in contents.iterfind(".//h:nav//h:a", X)]
        self.pictures = [place for place in self.zip.namelist() if "/pictures/" in place]

    def _xml(self, place: str) -> ElementTree.Element:
        return ElementTree.fromstring(self.zip.read(place))  # noqa: S314 - a file of our own

    def _page(self, place: str) -> ElementTree.Element:
        page, folder = self._xml(place), posixpath.dirname(place)
        for element in page.iter():
            address = element.get("src") or element.get("href") or ""
            if address and "://" not in address:
                assert posixpath.normpath(posixpath.join(folder, address)) in self.zip.namelist()
        return page

    @property
    def text(self) -> str:
        return "\n".join("".join(page.itertext()) for page in self.pages)


def said(*texts: str, **fields: Any) -> tuple[ChatMessage, ...]:
    return tuple(ChatMessage(name="Mira", text=text, **fields) for text in texts)


def book(*messages: ChatMessage, rule: ChapterRule = "whole", every: int = 50) -> OpenBook:
    chapters = Chapters(rule=rule, messages=every)
    return OpenBook(book_of_file(ChatFile(messages=messages), title="The Cat", modified=NOW, chapters=chapters))


def test_a_book_has_a_title_page_its_cast_and_all_words() -> None:
    made = book(
        *said("*Hello*\u00a0& <b>you</b><br>\n\n| a |\n|--|\n| 1 |", "<details><summary>x</summary>y</details>")
    )
    assert (made.title, made.creators, made.chapters) == ("The Cat", ["Mira"], ["The Cat"])
    assert "The Cat" in "".join(made.pages[0].itertext())
    assert "Hello\u00a0& you" in made.text


@given(st.lists(st.text(max_size=200) | st.sampled_from(["***", "# A", "<i><p>x</i>", "\x00\ud800\uffff", "```\n# b"])))
@pytest.mark.parametrize("rule", ["whole", "messages", "headings"])
def test_any_chat_becomes_a_book_that_opens(rule: ChapterRule, texts: list[str]) -> None:
    made = book(*said(*texts), rule=rule, every=2)
    assert len(made.chapters) >= 1


def test_chapters_begin_every_so_many_messages() -> None:
    made = book(*said("1", "2", "3"), rule="messages", every=2)
    assert made.chapters == ["Chapter 1", "Chapter 2"]


def test_chapters_begin_at_headings_and_scene_breaks_also_inside_a_message() -> None:
    texts = ("Before.\n\n## The *door*\n\nIt opens.", "Later.\n\n* * *\n\nMuch later.", "```\n# code\n***\n```", "---")
    made = book(*said(*texts, "# After the break"), rule="headings")
    assert made.chapters == ["Chapter 1", "The door", "Chapter 3", "After the break"]
    assert ["It opens." in "".join(page.itertext()) for page in made.pages[1:]] == [False, True, False, False]
    assert "# code\n***" in made.text


def test_a_long_chapter_is_several_files_and_one_entry_of_the_contents() -> None:
    made = book(*said(*["word " * (PART_CHARACTERS // 10)] * 5))
    assert len(made.pages) > 2
    assert made.chapters == ["The Cat"]


@pytest.mark.anyio
async def test_a_conversation_is_exported_as_a_book_with_pictures(database_url: str, tmp_path: Path) -> None:
    media = {"media": [{"url": PIXEL, "type": "image", "title": '"A" fox'}]}
    chat = lines(
        {"name": "Ada", "is_user": False, "mes": "# One\nHi.", "extra": media},
        {"name": "Sam", "is_user": True, "mes": "***\nHo.", "swipes": ["***\nHo.", "Not shown."], "swipe_id": 0},
        {"name": "Ada", "is_user": False, "is_system": True, "mes": "Hidden."},
    )
    async with (
        open_story(database_url, tmp_path) as play,
        api_client(play.runtime, play.user_id) as api,
    ):
        conversation = await bring_in(play, chat, title="Evening walk")
        wanted = {"format": "epub", "chapters": "headings"}
        answer = await api.get(f"/conversations/{conversation.id}/export", params=wanted)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/epub+zip")
        assert "Evening%20walk.epub" in answer.headers["content-disposition"]
        made = OpenBook(answer.content)
        assert made.chapters == ["One", "Chapter 2"]
        assert set(made.creators) == {"Ada", "Robin"}
        assert [name.text for name in made.pages[2].iterfind(".//h:h2", X)] == ["Robin"]
        assert len(made.pictures) == 1
        assert "Evening walk" in "".join(made.pages[0].itertext())
        assert "Hidden." not in made.text
        assert "Not shown." not in made.text
        bad = await api.get(f"/conversations/{conversation.id}/export", params={**wanted, "messages_per_chapter": 0})
        assert bad.status_code == 422


@pytest.mark.anyio
async def test_a_book_shows_portraits_pictures_of_cards_and_what_display_scripts_show(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with (
        prompt_story(sqlite_url, tmp_path) as story,
        api_client(story.runtime, story.user_id) as api,
    ):
        address = f"/characters/{story.member('Ada').character_id}"
        await api.put(f"{address}/avatar?version=1", files={"file": ("a.png", picture("green"), "image/png")})
        joy = await api.post(f"{address}/assets?kind=emotion", files={"files": ("joy.png", picture(), "image/png")})
        assert joy.is_success, joy.text
        await story.say_as("Ada", "A cat. ![smiles](joy) ![stranger](/api/v1/blobs/" + "0" * 64 + ")")
        await keep(story, script("/cat/g", "tiger", markdownOnly=True))
        export = f"/conversations/{story.conversation_id}/export"
        made = OpenBook((await api.get(export, params={"format": "epub"})).content)
        html = (await api.get(export, params={"format": "html"})).text
    assert len(made.pictures) == 2
    assert [len(list(page.iterfind(".//h:img", X))) for page in made.pages] == [1, 1]
    assert "A tiger. " in made.text
    assert "stranger" in made.text
    assert "A tiger. " in html
