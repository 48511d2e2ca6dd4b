"""What bytes are, told by themselves: neither names nor what a stranger's file says about them are believed."""

from __future__ import annotations

OPAQUE = "application/octet-stream"
"""Everything that is not known: it is stored and given back, and no browser opens it."""

_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO", "font/otf"),
    (b"\x00\x01\x00\x00", "font/ttf"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_AVIF = (b"avif", b"avis")
_MP4 = (b"isom", b"iso2", b"mp41", b"mp42", b"avc1", b"M4A ", b"M4V ")


def media_type_of(data: bytes) -> str:
    """The media type of pictures, sounds, films and fonts; anything else is opaque, also SVG and HTML."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], OPAQUE)
    if data[4:8] == b"ftyp":
        brand = data[8:12]
        return "image/avif" if brand in _AVIF else "video/mp4" if brand in _MP4 else OPAQUE
    return next((media_type for start, media_type in _STARTS if data.startswith(start)), OPAQUE)


def is_shown_inline(media_type: str) -> bool:
    return media_type != OPAQUE
