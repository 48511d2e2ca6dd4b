"""Presets of RisuAI as files: `.risup`, the older `.risupreset`, and plain JSON."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from tavernkit.errors import InvalidPresetError, ParseError, PresetParseError, UnsupportedVersionError
from tavernkit.reading import Imported, LooseObject, ReportBuilder, Source, kind_of, open_source, parse_json
from tavernkit.risuai.files.message_pack import read_message_pack, write_message_pack
from tavernkit.risuai.files.rpack import decode_rpack, encode_rpack
from tavernkit.risuai.settings import RisuSettings, read_settings, write_settings
from tavernkit.risuai.st_convert import convert_preset
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, JsonObject

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PresetFormat: TypeAlias = Literal["risup", "risupreset", "json"]

MAX_BYTES = 4 * 1024 * 1024
"""The largest preset that is read, packed or unpacked: real ones stay far below."""
GZIP = b"\x1f\x8b\x08"
VERSION = 2
# The seal is AES-GCM with a key that everybody knows.
KEY = hashlib.sha256(b"risupreset").digest()
NONCE = bytes(12)
SHORTEST_SEALED = 16
READABLE_VERSIONS = (0, VERSION)
# What a preset of RisuAI has and hardly anything else: one of these must be there.
OWN_FIELDS = frozenset(
    {"promptTemplate", "mainPrompt", "jailbreak", "globalNote", "formatingOrder", "aiModel", "promptSettings"}
)
# RisuAI empties these before a preset leaves the house, because they may hold keys and private addresses.
SECRETS = (
    "openAIKey",
    "forceReplaceUrl",
    "forceReplaceUrl2",
    "proxyKey",
    "textgenWebUIStreamURL",
    "textgenWebUIBlockingURL",
)


class _Envelope(msgspec.Struct, frozen=True):
    """What stands around a sealed preset; the oldest files call it `pres`."""

    presetVersion: float  # noqa: N815 - the name in the file
    type: str
    preset: bytes | None = None
    pres: bytes | None = None


def is_preset_file(data: bytes) -> bool:
    """Whether the bytes begin as a `.risup` or `.risupreset` file does, or are RisuAI's JSON of a preset."""
    if data.startswith((GZIP, encode_rpack(GZIP))):
        return True
    try:
        source = _read_json(data)
    except PresetParseError:
        return False
    return bool(OWN_FIELDS & source.keys()) and not _is_sillytavern(source)


def read_preset_file(source: Source, *, strict: bool = False) -> Imported[RisuSettings]:
    """Read a preset of RisuAI, of whatever format; everything that is not named in RisuSettings is in its `written`.

    A chat preset of SillyTavern becomes a prompt template, as it does in RisuAI. Raises a PresetParseError, or an
    UnsupportedVersionError for a preset that is locked or too new. A strict reader raises InvalidPresetError where
    something in the preset is broken.
    """
    try:
        data, file = open_source(source, max_bytes=MAX_BYTES, what="The preset")
    except ParseError as error:
        raise PresetParseError(str(error)) from None
    report = ReportBuilder()
    settings, format = _read(data.encode() if isinstance(data, str) else data, report)
    return Imported(settings, report.build(format, file=file, error=InvalidPresetError, strict=strict))


def _read(data: bytes | Mapping[str, Json], report: ReportBuilder) -> tuple[RisuSettings, PresetFormat]:
    if not isinstance(data, Mapping) and len(data) > MAX_BYTES:
        raise PresetParseError(f"The preset has {len(data):,} bytes; at most {MAX_BYTES:,} are read.")
    format = "json" if isinstance(data, Mapping) else _format(data)
    if isinstance(data, Mapping) or format == "json":
        source = data if isinstance(data, Mapping) else _read_json(data)
        if _is_sillytavern(source):
            report.converted(
                "prompts", "a chat preset of SillyTavern made a prompt template; nothing else is taken over"
            )
            return RisuSettings(template=convert_preset(source)), format
        if not OWN_FIELDS & source.keys():
            raise PresetParseError("This is not a preset of RisuAI: it has neither its prompts nor a prompt template.")
    else:
        packed = decode_rpack(data) if format == "risup" else data
        source = read_message_pack(_unseal(_open_envelope(_inflate(packed))), report, what="The preset")
    return read_settings(LooseObject(source, report)), format


def write_preset_file(settings: RisuSettings, format: PresetFormat = "risup") -> bytes:
    """Write a preset as RisuAI does; keys of providers and private addresses are left empty."""
    source = {key: "" if key in SECRETS else value for key, value in write_settings(settings).items()}
    if format == "json":
        return to_json(source, indent=2).encode()
    envelope = {"presetVersion": VERSION, "type": "preset", "preset": _seal(write_message_pack(source))}
    packed = gzip.compress(write_message_pack(envelope), mtime=0)
    return encode_rpack(packed) if format == "risup" else packed


def _format(data: bytes) -> PresetFormat:
    if data.startswith(encode_rpack(GZIP)):
        return "risup"
    if data.startswith(GZIP):
        return "risupreset"
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return "json"
    # RisuAI itself would also take compressed data without a header, which begins in no certain way.
    return "risup" if _can_inflate(decode_rpack(data)) else "risupreset"


def _read_json(data: bytes) -> JsonObject:
    try:
        source: Json = parse_json(data, what="The preset")
    except ParseError as error:
        raise PresetParseError(str(error)) from None
    if not isinstance(source, dict):
        raise PresetParseError(f"A preset is a JSON object, but this is {kind_of(source)}.")
    return source


def _is_sillytavern(source: JsonObject) -> bool:
    orders = source.get("prompt_order")
    first = orders[0] if isinstance(orders, list) and orders else None
    has_order = isinstance(first, dict) and isinstance(first.get("order"), list)
    return has_order and isinstance(source.get("prompts"), list)


def _open_envelope(data: bytes) -> bytes:
    try:
        envelope = msgspec.msgpack.decode(data, type=_Envelope)
    except (msgspec.DecodeError, ValueError, OverflowError, RecursionError) as error:
        raise PresetParseError(f"This is not a preset of RisuAI: {error}.") from None
    sealed = envelope.preset if envelope.preset is not None else envelope.pres
    if envelope.type != "preset" or sealed is None:
        raise PresetParseError("This is not a preset of RisuAI: the file contains something else.")
    if envelope.presetVersion not in READABLE_VERSIONS:
        raise UnsupportedVersionError(
            f"The preset is of the file version {envelope.presetVersion:g}; versions 0 and {VERSION} are read."
        )
    return sealed


def _inflate(data: bytes) -> bytes:
    """Unpack gzip, zlib or bare deflate, whichever it is."""
    window = window_of(data)
    inflater = zlib.decompressobj(window)
    try:
        plain = inflater.decompress(data, MAX_BYTES)
    except zlib.error as error:
        raise PresetParseError(f"This is not a preset of RisuAI, or it is damaged: {error}.") from None
    if inflater.unconsumed_tail:
        raise PresetParseError(f"The preset unpacks to more than {MAX_BYTES:,} bytes.")
    if not inflater.eof:
        raise PresetParseError("The preset is cut off inside its packed part.")
    return plain


def window_of(data: bytes) -> int:
    """How gzip, zlib or bare deflate is unpacked, whichever it begins as."""
    if data.startswith(GZIP[:2]):
        return zlib.MAX_WBITS | 16
    is_zlib = len(data) > 1 and data[0] & 15 == 8 and int.from_bytes(data[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS


def _can_inflate(data: bytes) -> bool:
    try:
        _inflate(data)
    except PresetParseError:
        return False
    return True


def _seal(data: bytes) -> bytes:
    """Seal the preset inside a preset file."""
    return _cipher().encrypt(NONCE, data, None)


def _unseal(data: bytes) -> bytes:
    """Open the seal; raises UnsupportedVersionError for a preset that another key has locked."""
    cipher = _cipher()
    from cryptography.exceptions import InvalidTag

    if len(data) < SHORTEST_SEALED:
        raise PresetParseError("The preset is damaged: its content is too short to be an encrypted preset.")
    try:
        return cipher.decrypt(NONCE, data, None)
    except InvalidTag:
        raise UnsupportedVersionError(
            "The preset is damaged, or encrypted with a key of its own. Export it from RisuAI once more, or as JSON."
        ) from None


def _cipher() -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise UnsupportedVersionError(
            "RisuAI's preset files are encrypted, and the cryptography package is not installed. "
            "Install tavernkit[playground], or export the preset from RisuAI as JSON."
        ) from None
    return AESGCM(KEY)
