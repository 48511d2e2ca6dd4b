"""A chat as an EPUB 3 book, written piece by piece: nobody has to hold more than a part of a chapter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from tavernkit.chats import ChatFile, ChatMessage, write_chat
from tavernkit.chats.forms import shown_text
from tavernkit.chats.pictures import data_of, shown_pictures
from tavernkit.playground.base.blobs.media_types import media_type_of
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.text.markdown import MAX_SHOWN, render_markdown
from tavernkit.playground.story.books.chapters import Chapters, Passage, passages
from tavernkit.playground.story.books.xhtml import xhtml, xml_attribute, xml_text
from tavernkit.values import Value

MEDIA_TYPE = "application/epub+zip"
PICTURE_ENDINGS: Mapping[str, str] = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
"""The pictures that every reader of EPUB shows, and how their files end."""
MOST_CREATORS = 20
PART_CHARACTERS = 200_000
"""A file of a chapter that is longer is ended; readers open long files slowly."""

_BLOB = re.compile(r"/api/v1/blobs/([0-9a-f]{64})")
_NO_PICTURES: Mapping[str, str] = {}
_CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
"""
_STYLE = """body { line-height: 1.5; overflow-wrap: break-word }
h1 { font-size: 1.5em; line-height: 1.25; text-align: center; margin: 1.5em 0 }
h2 { font-size: 1em; margin: 1.5em 0 .25em; break-after: avoid; page-break-after: avoid }
p { margin: .5em 0 }
.user { margin-left: 1em }
.narrator { font-style: italic }
.cast { list-style: none; padding: 0; text-align: center }
.cast img { width: 5em; height: 5em; object-fit: cover; border-radius: 50% }
.cast li { margin: 1em 0 }
q { quotes: none }
img { max-width: 100%; height: auto }
figure { margin: 1em 0; text-align: center }
td, th { border: 1px solid; padding: .2em .5em }
pre { white-space: pre-wrap }
"""


class CastMember(Value, frozen=True, kw_only=True):
    """Who speaks in a book, with the bytes of their portrait."""

    name: str
    portrait: bytes | None = None


class Book(Value, frozen=True, kw_only=True):
    """What a book says about itself; `identifier` is a URN that stays the same when it is written again."""

    title: str
    subtitle: str = ""
    identifier: str
    modified: datetime
    cast: Sequence[CastMember] = ()
    chapters: Chapters = Chapters()


class _Sink:
    """What was written and not yet taken. `zipfile` may go back as far as that, so that each header has its sizes."""

    def __init__(self) -> None:
        self._taken = 0
        self._data = BytesIO()

    def write(self, data: bytes) -> int:
        return self._data.write(data)

    def tell(self) -> int:
        return self._taken + self._data.tell()

    def seek(self, place: int) -> int:
        return self._taken + self._data.seek(place - self._taken)

    def flush(self) -> None:
        """Everything is there already."""

    def take(self) -> bytes:
        data = self._data.getvalue()
        self._taken += len(data)
        self._data = BytesIO()
        return data


class BookWriter:
    """Writes a book: `begin`, `add` for its messages in their order, `finish`. `take` gives what was written since."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._sink = _Sink()
        self._zip = ZipFile(self._sink, "w", ZIP_DEFLATED)  # type: ignore[call-overload]  # takes what it needs of a file
        self._manifest: list[str] = []
        self._spine: list[str] = []
        self._contents: list[tuple[str, str]] = []
        self._pictures: dict[str, str] = {}
        self._part: list[str] = []
        self._part_size = 0
        self._part_title = ""
        self._chapter_messages = 0
        self._parts = 0

    def take(self) -> bytes:
        return self._sink.take()

    def begin(self) -> None:
        """The title page, and what comes before it."""
        self._write("mimetype", MEDIA_TYPE, compression=ZIP_STORED)
        self._write("META-INF/container.xml", _CONTAINER)
        self._add_file("style", "style.css", "text/css", _STYLE)
        title = f"<h1>{xml_text(self._book.title)}</h1>\n"
        if self._book.subtitle:
            title += f'<p class="cast">{xml_text(self._book.subtitle)}</p>\n'
        if self._book.cast:
            title += '<ul class="cast">\n' + "".join(map(self._cast_item, self._book.cast)) + "</ul>\n"
        self._add_page("title", self._book.title, title, kind="titlepage")

    def knows(self, picture_sha256: str) -> bool:
        return picture_sha256 in self._pictures

    def add_picture(self, data: bytes) -> str | None:
        """Where the picture is in the book; None for what not every reader shows."""
        media_type = media_type_of(data)
        if media_type not in PICTURE_ENDINGS:
            return None
        name = sha256(data).hexdigest()
        if name not in self._pictures:
            self._pictures[name] = f"pictures/{name}.{PICTURE_ENDINGS[media_type]}"
            self._add_file(f"picture-{name}", self._pictures[name], media_type, data)
        return self._pictures[name]

    def add(self, messages: Iterable[tuple[ChatMessage, Mapping[str, str]]]) -> None:
        """Some messages, each with what its text may call a picture and the SHA-256 of it; the bytes of those must have
        been added."""
        for message, pictures in messages:
            self._add_message(message, pictures)

    def finish(self) -> None:
        """The last chapter, and what the book has in it."""
        if not self._contents:
            self._begin_chapter_if_none()
        if self._part or not self._parts:
            self._end_part()
        self._add_page("nav", self._book.title, self._navigation(), properties="nav", in_spine=False)
        self._write("OEBPS/content.opf", self._package())
        self._zip.close()

    def _add_message(self, message: ChatMessage, pictures: Mapping[str, str]) -> None:
        text = shown_text(message)
        figures = "" if message.is_system else "".join(self._figures(message))
        if not text and not figures:
            return
        chapters = self._book.chapters
        if chapters.rule == "messages" and self._chapter_messages >= chapters.messages:
            self._end_chapter()
        by_headings = chapters.rule == "headings"
        pieces = list(passages(text)) if by_headings else [Passage(text=text)]
        for place, piece in enumerate(pieces or [Passage(text="")]):
            if piece.begins:
                self._end_chapter()
            own_figures = figures if place == max(0, len(pieces) - 1) else ""
            # A break that nothing follows yet begins a chapter with what follows it.
            if piece.text.strip() or own_figures:
                self._begin_chapter_if_none(piece.title)
                self._append(self._section(message, piece.text, pictures, own_figures))
        self._chapter_messages += 1

    def _section(self, message: ChatMessage, text: str, pictures: Mapping[str, str], figures: str) -> str:
        role = "narrator" if message.is_narrator else "user" if message.is_user else "character"
        # A page cuts what no browser could lay out quickly; a book has all of it.
        shown = "\n".join(
            xhtml(render_markdown(text[start : start + MAX_SHOWN], pictures), self._place_of)
            for start in range(0, len(text), MAX_SHOWN)
        )
        name = f'<h2 dir="auto">{xml_text(message.name)}</h2>\n' if message.name.strip() else ""
        return f'<section class="{role}">\n{name}<div dir="auto">{shown}</div>\n{figures}</section>\n'

    def _figures(self, message: ChatMessage) -> Iterator[str]:
        for picture in shown_pictures(message.extra):
            data = data_of(picture.url)
            place = None if data is None else self.add_picture(data)
            if place is not None:
                yield f'<figure><img src="../{place}" alt={xml_attribute(picture.title)}/></figure>\n'
            elif picture.title:
                yield f"<figure><figcaption>{xml_text(picture.title)}</figcaption></figure>\n"

    def _place_of(self, address: str) -> str | None:
        own = _BLOB.fullmatch(address)
        place = None if own is None else self._pictures.get(own[1])
        return None if place is None else f"../{place}"

    def _cast_item(self, member: CastMember) -> str:
        place = None if member.portrait is None else self.add_picture(member.portrait)
        portrait = "" if place is None else f'<img src="../{place}" alt=""/><br/>'
        return f'<li dir="auto">{portrait}{xml_text(member.name)}</li>\n'

    def _begin_chapter_if_none(self, title: str = "") -> None:
        if self._part_title:
            return
        number = len(self._contents) + 1
        is_whole = self._book.chapters.rule == "whole"
        usual = self._book.title if is_whole else translated(_("Chapter {number}", number=number))
        self._part_title = title or usual
        self._contents.append((self._part_title, f"text/part-{self._parts + 1}.xhtml"))
        if not is_whole and not title:
            self._append(f'<h1 dir="auto">{xml_text(self._part_title)}</h1>\n')

    def _append(self, markup: str) -> None:
        self._part.append(markup)
        self._part_size += len(markup)
        if self._part_size >= PART_CHARACTERS:
            self._end_part()

    def _end_chapter(self) -> None:
        if self._part:
            self._end_part()
        self._part_title, self._chapter_messages = "", 0

    def _end_part(self) -> None:
        self._parts += 1
        markup = "".join(self._part) or "<p></p>\n"
        self._add_page(f"part-{self._parts}", self._part_title, markup)
        self._part, self._part_size = [], 0

    def _navigation(self) -> str:
        items = "".join(
            f'<li><a href="{place.removeprefix("text/")}">{xml_text(title)}</a></li>\n'
            for title, place in self._contents
        )
        return (
            f'<nav epub:type="toc" id="toc">\n<h1>{xml_text(translated(_("Contents")))}</h1>\n'
            f"<ol>\n{items}</ol>\n</nav>\n"
        )

    def _package(self) -> str:
        book = self._book
        creators = "".join(
            f"<dc:creator>{xml_text(member.name)}</dc:creator>\n"
            for member in book.cast[:MOST_CREATORS]
            if member.name.strip()
        )
        manifest, spine = "\n".join(self._manifest), "\n".join(self._spine)
        return f"""<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">{xml_text(book.identifier)}</dc:identifier>
<dc:title>{xml_text(book.title)}</dc:title>
<dc:language>und</dc:language>
{creators}<meta property="dcterms:modified">{book.modified.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}</meta>
</metadata>
<manifest>
{manifest}
</manifest>
<spine>
{spine}
</spine>
</package>
"""

    def _add_page(
        self, id: str, title: str, markup: str, *, kind: str = "", properties: str = "", in_spine: bool = True
    ) -> None:
        body = f'<body epub:type="{kind}">' if kind else "<body>"
        page = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n'
            '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">\n'
            f'<head><title>{xml_text(title)}</title><link rel="stylesheet" href="../style.css"/></head>\n'
            f"{body}\n{markup}</body>\n</html>\n"
        )
        self._add_file(id, f"text/{id}.xhtml", "application/xhtml+xml", page, properties=properties)
        if in_spine:
            self._spine.append(f'<itemref idref="{id}"/>')

    def _add_file(self, id: str, place: str, media_type: str, data: str | bytes, *, properties: str = "") -> None:
        is_picture = media_type in PICTURE_ENDINGS
        self._write(f"OEBPS/{place}", data, compression=ZIP_STORED if is_picture else ZIP_DEFLATED)
        further = f' properties="{properties}"' if properties else ""
        self._manifest.append(f'<item id="{id}" href="{place}" media-type="{media_type}"{further}/>')

    def _write(self, name: str, data: str | bytes, *, compression: int = ZIP_DEFLATED) -> None:
        moment = self._book.modified.astimezone(UTC)
        entry = ZipInfo(name, (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second))
        entry.compress_type = compression
        entry.external_attr = 0o644 << 16
        self._zip.writestr(entry, data)


def book_of_file(chat: ChatFile, *, title: str, modified: datetime, chapters: Chapters) -> bytes:
    """A chat file as a book; who speaks in it is its cast."""
    names = dict.fromkeys(message.name for message in chat.messages if shown_text(message) and message.name.strip())
    digest = sha256(write_chat(chat).encode("utf-8", "replace")).digest()
    book = Book(
        title=shown_name(title),
        identifier=f"urn:uuid:{UUID(bytes=digest[:16], version=4)}",
        modified=modified,
        cast=[CastMember(name=name) for name in names][:MOST_CREATORS],
        chapters=chapters,
    )
    writer = BookWriter(book)
    writer.begin()
    writer.add((message, _NO_PICTURES) for message in chat.messages)
    writer.finish()
    return writer.take()


def pictures_called(text: str, pictures: Mapping[str, str]) -> set[str]:
    """Which of some pictures, by their SHA-256, a text shows when it is rendered with them."""
    return set(pictures.values()).intersection(_BLOB.findall(render_markdown(text, pictures)))
