"""CHARX: an archive with `card.json` and the files that the card refers to, alone or behind a JPEG picture."""

from __future__ import annotations

import re

from tavernkit.characters.character import AssetReference, Bundle, CardFormat, CharacterCard
from tavernkit.characters.decode import decode_card
from tavernkit.characters.ingest.archive import Archive
from tavernkit.characters.ingest.text_file import parse_card_json
from tavernkit.characters.limits import CardLimits
from tavernkit.errors import ArchiveParseError, ParseError
from tavernkit.reading import ReportBuilder

CARD_FILE = "card.json"
EMBEDDED = re.compile(r"(?:embeded://|embedded://|__asset:)(.+)", re.DOTALL)


def read_charx(
    archive: Archive, limits: CardLimits, *, format: CardFormat = "charx", cover: bytes | None = None
) -> Bundle:
    """Read an opened CHARX archive; `cover` is the picture around it, for a card without an icon of its own."""
    report = ReportBuilder()
    source = parse_card_json(
        archive.read(CARD_FILE), report, limits, what=f"The archive's {CARD_FILE}", error=ArchiveParseError
    )
    card = decode_card(source, report, limits=limits)
    if card.spec != "v3":
        report.converted(CARD_FILE, f"a card of version {card.spec[1]}, where a CHARX file should have version 3")
    _note_missing(card, archive, report)
    return Bundle(
        format=format,
        card=card,
        image=_main_image(card, archive, report) or cover,
        assets=tuple(archive.asset(name) for name in archive.names if name != CARD_FILE),
        report=report.build(format),
    )


def embedded_path(uri: str) -> str | None:
    """The place inside the archive that a card's URI names; None for any other URI."""
    match = EMBEDDED.fullmatch(uri.strip())
    return match.group(1) if match else None


def main_icon(assets: tuple[AssetReference, ...]) -> AssetReference | None:
    """The icon called main, or else the first icon, among those inside the file. None where the icon called main is the
    picture itself (`ccdefault:`)."""
    icons = _icons(assets)
    called_main = [asset for asset in assets if asset.type.lower() == "icon" and asset.name.lower() == "main"]
    main = next((icon for icon in icons if icon in called_main), None)
    if main is None and any(asset.uri == "ccdefault:" for asset in called_main):
        return None
    return main or next(iter(icons), None)


def _icons(assets: tuple[AssetReference, ...]) -> list[AssetReference]:
    return [asset for asset in assets if asset.type.lower() == "icon" and embedded_path(asset.uri) is not None]


def _main_image(card: CharacterCard, archive: Archive, report: ReportBuilder) -> bytes | None:
    references = card.character.assets or ()
    icon = main_icon(references) or next(iter(_icons(references)), None)
    path = embedded_path(icon.uri) if icon else None
    return None if path is None or path not in archive else archive.picture(path, report)


def _note_missing(card: CharacterCard, archive: Archive, report: ReportBuilder) -> None:
    for index, asset in enumerate(card.character.assets or ()):
        path = embedded_path(asset.uri)
        if path is not None and path not in archive:
            report.broken(f"data.assets[{index}]", f"the archive has no file {path[:200]!r}")


LOCAL_HEADER = b"PK\x03\x04"


def read_jpeg(data: bytes, limits: CardLimits) -> Bundle:
    """Read the card behind a JPEG picture."""
    if LOCAL_HEADER not in data:
        raise ParseError("This is a JPEG picture without a character card: no CHARX archive follows the picture.")
    archive = Archive(data, limits)
    if CARD_FILE not in archive:
        raise ArchiveParseError(f"The archive behind the JPEG picture has no {CARD_FILE}, so it is not a CHARX file.")
    return read_charx(archive, limits, format="jpeg", cover=data[: archive.start])
