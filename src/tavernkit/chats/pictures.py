"""The pictures of a message as SillyTavern's files have them: `media` since 1.14, `image` and `image_swipes` before."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator, Mapping, Sequence

from tavernkit.values import Json, JsonObject, Value

_KEYS = ("media", "media_index", "media_display", "inline_image", "image", "image_swipes", "title")
GALLERY = "gallery"
"""The `media_display` that shows one picture at a time."""


class ChatPicture(Value, frozen=True, kw_only=True):
    """A picture by its address, which may be a data URL, and what it is called."""

    url: str
    title: str = ""


def shown_pictures(extra: JsonObject) -> tuple[ChatPicture, ...]:
    """The pictures that are seen in a message, in their order."""
    media = list(_media(extra))
    if media and extra.get("media_display") == GALLERY:
        index = extra.get("media_index")
        place = index if isinstance(index, int) and 0 <= index < len(media) else 0
        media = media[place : place + 1]
    image = extra.get("image")
    if not media and isinstance(image, str) and image:
        return (ChatPicture(url=image, title=_text(extra.get("title"))),)
    return tuple(media)


def with_addresses(extra: JsonObject, change: Callable[[str], str]) -> JsonObject:
    """The same with the address of each picture as the function gives it; the very same if it changes none."""
    changed: dict[str, Json] = {}
    image, swipes, media = extra.get("image"), extra.get("image_swipes"), extra.get("media")
    if isinstance(image, str):
        changed["image"] = change(image)
    if isinstance(swipes, list | tuple):
        changed["image_swipes"] = [change(one) if isinstance(one, str) else one for one in swipes]
    if isinstance(media, list | tuple):
        changed["media"] = [
            {**item, "url": change(item["url"])}
            if isinstance(item, Mapping) and isinstance(item.get("url"), str)
            else item
            for item in media
        ]
    return {**extra, **changed} if any(extra[key] != value for key, value in changed.items()) else extra


def with_pictures(extra: JsonObject, pictures: Sequence[ChatPicture], is_known: Callable[[str], bool]) -> JsonObject:
    """The same with these pictures in the place of those whose addresses are known; the others stay."""
    image, media = extra.get("image"), extra.get("media")
    others = [
        item
        for item in (media if isinstance(media, list | tuple) else ())
        if not (isinstance(item, Mapping) and isinstance(item.get("url"), str) and is_known(item["url"]))
    ]
    foreign = isinstance(image, str) and bool(image) and not is_known(image)
    kept = {key: value for key, value in extra.items() if key not in _KEYS or (foreign and key in ("image", "title"))}
    written = [{"url": one.url, "type": "image", "title": one.title} for one in pictures]
    if not written and not others:
        return kept
    return {**kept, "media": [*others, *written], "media_index": 0, "media_display": "list", "inline_image": True}


def data_of(url: str) -> bytes | None:
    """The bytes of a picture's data URL; None for any other address."""
    head, _, data = url.partition(",")
    if not head.startswith("data:image/") or not head.endswith(";base64"):
        return None
    try:
        return b64decode(data, validate=True)
    except (Base64Error, ValueError):
        return None


def _media(extra: JsonObject) -> Iterator[ChatPicture]:
    media = extra.get("media")
    for item in media if isinstance(media, list | tuple) else ():
        if isinstance(item, Mapping) and isinstance(item.get("url"), str) and item.get("type", "image") == "image":
            yield ChatPicture(url=item["url"], title=_text(item.get("title")))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
