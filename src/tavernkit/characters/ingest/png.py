"""PNG and APNG: the card in a text chunk, and assets in further ones."""

from __future__ import annotations

import base64
import binascii
import re
import zlib

from tavernkit.characters.character import Asset, Bundle
from tavernkit.characters.decode import decode_card
from tavernkit.characters.ingest.sealed import SEALED, is_locked, open_sealed
from tavernkit.characters.ingest.text_file import parse_card_json
from tavernkit.characters.limits import DEFAULT_LIMITS, CardLimits
from tavernkit.characters.png_chunks import PNG_SIGNATURE, Chunk, put_texts, walk_chunks
from tavernkit.errors import InvalidCardError, ParseError, PngParseError, TavernKitError, UnsupportedVersionError
from tavernkit.reading import ReportBuilder

CARD_KEYWORDS = ("ccv3", "chara")
ASSET_KEYWORD = "chara-ext-asset_"
LONGEST_HEAD = 200


def read_png(data: bytes, limits: CardLimits) -> Bundle:
    """Read the card of a PNG file; `ccv3` before `chara`, in any letter case, and the first of each."""
    png = memoryview(data)
    report = ReportBuilder()
    chunks, animated = _text_chunks(png, limits, report)
    cards = {keyword: chunks[keyword] for keyword in CARD_KEYWORDS if keyword in chunks}
    if not cards:
        raise PngParseError(
            "The PNG contains no character card: it has no text chunk named ccv3 or chara. "
            "Pictures lose their card when they are edited or re-saved by a website."
        )
    assets = _assets(chunks, limits)
    problems: list[TavernKitError] = []
    for keyword, chunk in cards.items():
        attempt = ReportBuilder()
        try:
            if not chunk.has_good_checksum(png):
                attempt.mended(keyword, "the chunk's checksum is wrong; read all the same")
            card = decode_card(_parse_payload(_text(chunk, limits), keyword, limits, attempt), attempt, limits=limits)
        except (ParseError, InvalidCardError, UnsupportedVersionError) as error:
            problems.append(error)
            report.broken(keyword, f"unusable: {error}")
            continue
        for note in attempt.build(keyword).notes:
            report.add(note.path, note.outcome, note.message, is_broken=note.is_broken)
        return Bundle(
            format="apng" if animated else "png",
            card=card,
            report=report.build("apng" if animated else "png"),
            image=data,
            assets=assets,
        )
    raise problems[0]


def needs_password(data: bytes) -> bool:
    """Whether a file is a picture whose card RisuAI has encrypted with a password."""
    if not data.startswith(PNG_SIGNATURE):
        return False
    try:
        texts = [_text(chunk, DEFAULT_LIMITS) for chunk in _card_chunks(data).values()]
    except PngParseError:
        return False
    return bool(texts) and all(map(is_locked, texts))


def without_password(data: bytes, password: str) -> bytes:
    """The same picture with its card in the open. Raises PngParseError for a wrong password."""
    locked = {
        keyword: (chunk, text)
        for keyword, chunk in _card_chunks(data).items()
        if is_locked(text := _text(chunk, DEFAULT_LIMITS))
    }
    opened = {
        keyword: base64.b64encode(open_sealed(text, f"The card in the PNG's {keyword} chunk", password))
        for keyword, (_chunk, text) in locked.items()
    }
    places = {chunk.start for chunk, _text in locked.values()}
    return put_texts(data, opened, drop=lambda chunk: chunk.start in places)


def _card_chunks(data: bytes) -> dict[str, Chunk]:
    chunks, _animated = _text_chunks(memoryview(data), DEFAULT_LIMITS, ReportBuilder())
    return {keyword: chunks[keyword] for keyword in CARD_KEYWORDS if keyword in chunks}


def _text_chunks(png: memoryview, limits: CardLimits, report: ReportBuilder) -> tuple[dict[str, Chunk], bool]:
    chunks: dict[str, Chunk] = {}
    animated = False
    try:
        for chunk in walk_chunks(png, limit=limits.png_chunks):
            animated = animated or chunk.type == b"acTL"
            keyword = chunk.keyword
            if keyword is None:
                continue
            if keyword.lower() in CARD_KEYWORDS:
                keyword = keyword.lower()
            if keyword in chunks and keyword in CARD_KEYWORDS:
                report.ignored(keyword, f"a further chunk of that name at byte {chunk.start:,}; the first one counts")
            chunks.setdefault(keyword, chunk)
    except PngParseError as error:
        if not any(keyword in chunks for keyword in CARD_KEYWORDS):
            raise
        report.broken("", f"{error} The card stood before that place and is whole.")
    return chunks, animated


def _assets(chunks: dict[str, Chunk], limits: CardLimits) -> tuple[Asset, ...]:
    found = [name for name in chunks if name.lower().startswith(ASSET_KEYWORD)]
    if not found:
        return ()
    if len(found) > limits.assets:
        raise PngParseError(f"The PNG contains {len(found):,} assets; at most {limits.assets:,} are read.")
    # An asset may be as large as in an archive, in base64 behind its name, and so may all together: how large they are
    # is not known before they are unpacked.
    packed = 4 * limits.archive_entry_bytes // 3 + LONGEST_HEAD
    limits = limits.with_(text_chunk_bytes=max(limits.text_chunk_bytes, packed))
    spent: dict[str, int] = {}
    return tuple(_asset(name, chunks[name], limits, spent) for name in found)


def _asset(keyword: str, chunk: Chunk, limits: CardLimits, spent: dict[str, int]) -> Asset:
    name = keyword[len(ASSET_KEYWORD) :].removeprefix(":")

    def load() -> bytes:
        text = _text(chunk, limits)
        try:
            data = base64.b64decode(text)
        except binascii.Error as error:
            raise PngParseError(f"The asset {name!r} inside the PNG is not valid base64: {error}.") from None
        spent[keyword] = len(data)
        if sum(spent.values()) > limits.archive_total_bytes:
            raise PngParseError(f"The assets of the PNG have more than {limits.archive_total_bytes:,} bytes.")
        return data

    return Asset(name=name, uri=f"__asset:{name}", load=load)


def _text(chunk: Chunk, limits: CardLimits) -> bytes:
    """The text of a tEXt, zTXt or iTXt chunk, as bytes."""
    name = str(chunk.keyword)[:80]
    size, allowed = len(chunk.data), limits.text_chunk_bytes
    if size > allowed:
        raise PngParseError(f"The PNG's text chunk {name!r} has {size:,} bytes; at most {allowed:,} are read.")
    rest = bytes(chunk.data).partition(b"\0")[2]
    if chunk.type == b"tEXt":
        return rest
    if chunk.type == b"zTXt":
        return _inflate(rest[:1], rest[1:], name, limits)
    flag, method, fields = rest[:1], rest[1:2], rest[2:]
    parts = fields.split(b"\0", 2)
    if len(parts) != 3:
        raise PngParseError(f"The PNG's iTXt chunk {name!r} is damaged: its language fields do not end.")
    return _inflate(method, parts[2], name, limits) if flag == b"\1" else parts[2]


def _inflate(method: bytes, packed: bytes, name: str, limits: CardLimits) -> bytes:
    if method != b"\0":
        raise PngParseError(f"The PNG's text chunk {name!r} is compressed in a way that PNG does not define.")
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(packed, limits.text_chunk_bytes)
    except zlib.error as error:
        raise PngParseError(f"The PNG's text chunk {name!r} cannot be decompressed: {error}.") from None
    if inflater.unconsumed_tail:
        raise PngParseError(f"The PNG's text chunk {name!r} inflates to more than {limits.text_chunk_bytes:,} bytes.")
    if not inflater.eof:
        raise PngParseError(f"The PNG's text chunk {name!r} is cut off inside its compressed text.")
    return text


def _parse_payload(text: bytes, keyword: str, limits: CardLimits, report: ReportBuilder) -> object:
    what = f"The card in the PNG's {keyword} chunk"
    if text.startswith(SEALED):
        return parse_card_json(open_sealed(text, what), report, limits, what=what, error=PngParseError)
    if text.lstrip()[:1] == b"{":
        report.converted(keyword, "plain JSON where base64 is usual")
        return parse_card_json(text, report, limits, what=what, error=PngParseError)
    packed = b"".join(text.split())
    try:
        plain = base64.b64decode(packed, validate=True)
    except binascii.Error:
        plain = _lenient_base64(packed)
        report.converted(keyword, "base64 with missing padding or strange characters, read as well as possible")
    return parse_card_json(plain, report, limits, what=what, error=PngParseError)


def _lenient_base64(text: bytes) -> bytes:
    """Decode base64 of either alphabet; characters outside it, and a last lone one, are dropped."""
    kept = re.sub(rb"[^A-Za-z0-9+/]+", b"", text.replace(b"-", b"+").replace(b"_", b"/"))
    if len(kept) % 4 == 1:
        kept = kept[:-1]
    return base64.b64decode(kept + b"=" * (-len(kept) % 4))
