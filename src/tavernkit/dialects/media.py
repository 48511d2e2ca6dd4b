"""Pictures, sound, video and files: as content parts, as addresses, and as the bytes inside a data: address."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping

from tavernkit.errors import DialectError
from tavernkit.prompt.message import Attachment
from tavernkit.values import Json, JsonObject, Value

MEDIA_TYPES = ("image_url", "audio_url", "video_url", "input_audio", "file")
"""The part types that carry something other than text."""

_AUDIO_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


class Media(Value, frozen=True, kw_only=True):
    """What one media part carries: base64 `data` with its type, or an address elsewhere."""

    mime_type: str = ""
    data: str = ""
    address: str = ""
    detail: str = ""
    name: str = ""

    @property
    def url(self) -> str:
        return self.address or f"data:{self.mime_type};base64,{self.data}"

    @property
    def is_remote(self) -> bool:
        return self.address.startswith(("http://", "https://"))

    def decoded(self) -> str | None:
        """The bytes as UTF-8 text, None when they are not."""
        try:
            return b64decode(self.data, validate=True).decode("utf-8")
        except (Base64Error, UnicodeDecodeError):
            return None


def attachment_part(attachment: Attachment, index: int) -> JsonObject:
    """Write an attachment as a content part."""
    if (attachment.data is None) == (attachment.url is None):
        raise DialectError(f"Message {index}: an attachment needs either data or a url, and exactly one of them.")
    media = (
        Media(address=attachment.url or "")
        if attachment.data is None
        else Media(mime_type=attachment.mime_type, data=b64encode(attachment.data).decode("ascii"))
    )
    match attachment.kind:
        case "image" | "video" as kind:
            detail = {"detail": attachment.detail} if attachment.detail else {}
            return {"type": f"{kind}_url", f"{kind}_url": {"url": media.url, **detail}}
        case "audio" if attachment.data is None:
            return {"type": "audio_url", "audio_url": {"url": media.url}}
        case "audio":
            audio = {"data": media.data, "format": audio_format(attachment.mime_type)}
            return {"type": "input_audio", "input_audio": audio}
        case "file":
            name = attachment.name or "file"
            return {"type": "file", "file": {"filename": name, "file_data": media.url}}
        case unknown:
            raise DialectError(
                f"Message {index}: an attachment of kind {unknown!r} is not known. Use image, audio, video or file."
            )


def audio_format(mime_type: str) -> str:
    """OpenAI's short name of an audio type: `audio/mpeg` is `mp3`."""
    subtype = mime_type.partition("/")[2]
    return _AUDIO_FORMATS.get(subtype, subtype)


def read_media(part: JsonObject) -> Media | None:
    """What a media part carries; None for a part of any other kind, or one that holds nothing."""
    kind = part.get("type")
    held: Json = part.get(kind) if kind in MEDIA_TYPES else None
    if isinstance(held, str):
        held = {"url": held}
    if not isinstance(held, Mapping):
        return None
    if kind == "input_audio":
        short = str(held.get("format", ""))
        return Media(mime_type="audio/mpeg" if short == "mp3" else f"audio/{short}", data=str(held.get("data", "")))
    address = held.get("file_data" if kind == "file" else "url")
    if not isinstance(address, str):
        return None
    detail = held.get("detail")
    common = Media(detail=detail if isinstance(detail, str) else "", name=str(held.get("filename", "")))
    if not address.startswith("data:"):
        return common.with_(address=address)
    head, _, data = address.partition(",")
    return common.with_(mime_type=head.removeprefix("data:").partition(";")[0], data=data)
