"""Pictures in chat files: their data URLs become stored files, and stored files data URLs again.

In what is kept of a file, a reference with the hash stands for each picture. What looks like one in a stranger's file
is marked, so that nobody gets a picture by naming it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from tavernkit.chats import ChatFile, ChatMessage
from tavernkit.chats.pictures import ChatPicture, data_of, shown_pictures, with_addresses, with_pictures
from tavernkit.playground.base.blobs.pictures import MeasuredPicture, PictureError, measure
from tavernkit.playground.base.database.models import MessagePicture
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.paths.pictures import MAX_PICTURE_BYTES, MAX_TITLE_CHARACTERS
from tavernkit.values import JsonObject

REFERENCE = "tavernkit-picture:"
LITERAL = f"{REFERENCE}="
MAX_KEPT = 100
"""How many pictures one swipe of a file has at most; further ones stay in the file as they are."""


def without_data(file: ChatFile) -> tuple[ChatFile, dict[str, MeasuredPicture]]:
    """The file with references in the place of pictures, and the pictures by their hashes."""
    found: dict[str, MeasuredPicture] = {}

    def reference(url: str) -> str:
        if url.startswith(REFERENCE):
            return f"{LITERAL}{url.removeprefix(REFERENCE)}"
        data = data_of(url)
        if data is None or len(data) > MAX_PICTURE_BYTES:
            return url
        with suppress(PictureError):
            picture = measure(data)
            # Otherwise it would come back as something else.
            if url == data_url(picture.blob.media_type, data):
                found[picture.blob.sha256] = picture
                return f"{REFERENCE}{picture.blob.sha256}"
        return url

    messages = tuple(_readdressed(message, reference) for message in file.messages)
    return file.with_(messages=messages), found


def _readdressed(message: ChatMessage, reference: Callable[[str], str]) -> ChatMessage:
    extra = with_addresses(message.extra, reference)
    infos: list[JsonObject] = []
    for info in message.swipe_info:
        own = info.get("extra")
        infos.append({**info, "extra": with_addresses(own, reference)} if isinstance(own, Mapping) else info)
    return message.with_(extra=extra, swipe_info=tuple(infos))


def data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"


def pictures_in(extra: JsonObject) -> list[tuple[str, str, str]]:
    """The kind, the hash and the title of each picture that a file has for a swipe; those that are seen come first."""
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
    extra: JsonObject, pictures: Sequence[MessagePicture], blobs: Mapping[str, tuple[str, bytes]], *, as_read: bool
) -> JsonObject:
    """What a file says about a swipe, with the pictures that it has now; `as_read`, with those that it names."""
    if not as_read:
        now = [ChatPicture(url=f"{REFERENCE}{sha256}", title=title) for _kind, sha256, title in _attached(pictures)]
        extra = with_pictures(extra, now, lambda url: bool(_hash(url)))

    def address(url: str) -> str:
        if url.startswith(LITERAL):
            return f"{REFERENCE}{url.removeprefix(LITERAL)}"
        blob = blobs.get(_hash(url))
        return url if blob is None else data_url(*blob)

    return with_addresses(extra, address)


def _attached(pictures: Sequence[MessagePicture]) -> list[tuple[str, str, str]]:
    return [(one.kind, one.sha256, one.title) for one in pictures if one.kind == "attached"]


def _hash(url: str) -> str:
    is_ours = url.startswith(REFERENCE) and not url.startswith(LITERAL)
    return url.removeprefix(REFERENCE) if is_ours else ""
