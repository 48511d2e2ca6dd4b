"""Base64 and UTF-8 as the `buffer` package reads them in a browser: whatever can be read is read."""

from __future__ import annotations

import binascii
import codecs
import re

_FOREIGN = re.compile(r"[^A-Za-z0-9+/]")
_ONE_BY_ONE = "tavernkit.one-by-one"


def decode_base64(text: str) -> bytes:
    """The bytes up to the first `=`; foreign characters and a last one that stands alone are passed over."""
    digits = _FOREIGN.sub("", text.partition("=")[0].replace("-", "+").replace("_", "/"))
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    return binascii.a2b_base64(digits + "=" * (-len(digits) % 4))


def decode_utf8(data: bytes) -> str:
    """The text of the bytes, with U+FFFD for each byte that has no meaning, where others put one for several."""
    return data.decode("utf-8", _ONE_BY_ONE)


def _replace_one(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\ufffd", error.start + 1


codecs.register_error(_ONE_BY_ONE, _replace_one)
