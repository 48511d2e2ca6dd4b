"""Pictures in chat files: their data URLs become stored files, and stored files data URLs again.

In what is kept of a file, a reference with the hash stands for each picture; for one that the file only names, with the
address that it has there. What looks like a reference in a stranger's file is marked, so that nobody gets a picture by
naming it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from tavernkit.chats import ChatFile, ChatMessage
from tavernkit.chats.pictures import ChatPicture, data_of, shown_pictures, with_addresses, with_pictures
from tavernkit.playground.base.blobs.pictures import PictureError, measure
from tavernkit.playground.base.blobs.store import NewBlob
from tavernkit.playground.base.database.models import MessagePicture
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.paths.pictures import MAX_PICTURE_BYTES, MAX_TITLE_CHARACTERS
from tavernkit.values import JsonObject, Value

REFERENCE = "tavernkit-picture:"
LITERAL = f"{REFERENCE}="
ADDRESS = "@"
"""Between the hash of a picture and the address that its file has for it."""
MAX_KEPT = 100
"""How many pictures one swipe of a file has at most; further ones stay in the file as they are."""


class FilePicture(Value, frozen=True, kw_only=True):
    """A picture that a chat file has in it or names: its hash, its size in pixels, and how its bytes are read."""

    sha256: str
    width: int
    height: int
    read: Callable[[], NewBlob]


FindPicture: TypeAlias = Callable[[str], FilePicture | None]
"""Finds the picture that a file names by an address; None leaves the address as it is."""


def without_data(file: ChatFile, find: FindPicture | None = None) -> tuple[ChatFile, dict[str, FilePicture]]:
    """The file with references in the place of pictures, and the pictures by their hashes."""
    found: dict[str, FilePicture] = {}

    def reference(url: str) -> str:
        if url.startswith(REFERENCE):
            return f"{LITERAL}{url.removeprefix(REFERENCE)}"
        if not url.startswith("data:"):
            named = None if find is None else find(url)
            if named is None:
                return url
            found[named.sha256] = named
            return f"{REFERENCE}{named.sha256}{ADDRESS}{url}"
        picture = _in_data(url)
        if picture is None:
            return url
        found[picture.sha256] = picture
        return f"{REFERENCE}{picture.sha256}"

    messages = tuple([_readdressed(message, reference) for message in file.messages])
    return file.with_(messages=messages), found


def _in_data(url: str) -> FilePicture | None:
    data = data_of(url)
    if data is None or len(data) > MAX_PICTURE_BYTES:
        return None
    with suppress(PictureError):
        picture = measure(data)
        # Otherwise it would come back as something else.
        if url == data_url(picture.blob.media_type, data):
            blob = picture.blob
            return FilePicture(sha256=blob.sha256, width=picture.width, height=picture.height, read=lambda: blob)
    return None


def _names_pictures(extra: JsonObject) -> bool:
    """Few messages have any, so that this is all there is to do for the others."""
    return "media" in extra or "image" in extra or "image_swipes" in extra


def _readdressed(message: ChatMessage, reference: Callable[[str], str]) -> ChatMessage:
    extra = _addressed(message.extra, reference)
    infos = [_readdressed_info(info, reference) for info in message.swipe_info]
    is_same = extra is message.extra and all(map(lambda one, other: one is other, infos, message.swipe_info))
    return message if is_same else message.with_(extra=extra, swipe_info=tuple(infos))


def _readdressed_info(info: JsonObject, reference: Callable[[str], str]) -> JsonObject:
    own = info.get("extra")
    changed = _addressed(own, reference) if isinstance(own, dict) else own
    return info if changed is own else {**info, "extra": changed}


def _addressed(extra: JsonObject, change: Callable[[str], str]) -> JsonObject:
    return with_addresses(extra, change) if _names_pictures(extra) else extra


def data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"


def pictures_in(extra: JsonObject) -> list[tuple[str, str, str]]:
    """The kind, the hash and the title of each picture that a file has for a swipe; those that are seen come first."""
    if not _names_pictures(extra):
        return []
    seen = [
        ("attached", sha256, titled(one.title, "", limit=MAX_TITLE_CHARACTERS))
        for one in shown_pictures(extra)
        if (sha256 := _hash(one.url))
    ]
    others: dict[str, None] = {}

    def note(url: str) -> str:
        others[_hash(url)] = None
        return url

    with_addresses(extra, note)
    named = {sha256 for _kind, sha256, _title in seen}
    return [*seen, *(("kept", sha256, "") for sha256 in others if sha256 and sha256 not in named)][:MAX_KEPT]


def has_pictures(extra: JsonObject, pictures: Sequence[MessagePicture]) -> bool:
    """Whether a file says of a swipe that it has exactly the pictures that are seen in it now."""
    return _attached(pictures) == [one for one in pictures_in(extra) if one[0] == "attached"]


def written_extra(
    extra: JsonObject,
    pictures: Sequence[MessagePicture],
    blobs: Mapping[str, tuple[str, bytes]],
    *,
    as_read: bool,
    is_embedded: bool = True,
) -> JsonObject:
    """What a file says about a swipe, with the pictures that it has now; `as_read`, with those that it names. Unless
    they are embedded, those that the file only named are named again."""
    if not as_read:
        named: dict[str, str] = {}

        def note(url: str) -> str:
            named[_hash(url)] = url
            return url

        with_addresses(extra, note)
        now = [
            ChatPicture(url=named.get(sha256, f"{REFERENCE}{sha256}"), title=title)
            for _kind, sha256, title in _attached(pictures)
        ]
        extra = with_pictures(extra, now, lambda url: bool(_hash(url)))

    def address(url: str) -> str:
        if url.startswith(LITERAL):
            return f"{REFERENCE}{url.removeprefix(LITERAL)}"
        sha256 = _hash(url)
        original = url.partition(ADDRESS)[2] if sha256 else ""
        blob = blobs.get(sha256)
        if blob is None or (original and not is_embedded):
            return original or url
        return data_url(*blob)

    return _addressed(extra, address)


def named_in_files(extra: JsonObject) -> set[str]:
    """The hashes of the pictures that a file only names."""
    found: set[str] = set()

    def note(url: str) -> str:
        if ADDRESS in url:
            found.add(_hash(url))
        return url

    _addressed(extra, note)
    return found


def _attached(pictures: Sequence[MessagePicture]) -> list[tuple[str, str, str]]:
    return [(one.kind, one.sha256, one.title) for one in pictures if one.kind == "attached"]


def _hash(url: str) -> str:
    is_ours = url.startswith(REFERENCE) and not url.startswith(LITERAL)
    return url.removeprefix(REFERENCE).partition(ADDRESS)[0] if is_ours else ""
