"""Which name each asset gets inside a PNG file, and what the card must say about it."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Mapping

from tavernkit.characters.character import Asset, AssetReference, CharacterCard, plain_uri
from tavernkit.characters.ingest.charx import main_icon
from tavernkit.characters.ingest.png import ASSET_KEYWORD

PNG_ASSET = "__asset:"
ARCHIVED = "embeded://"
THE_PICTURE = "ccdefault:"
LONGEST_NAME = 60


def assets_for_png(card: CharacterCard, assets: Iterable[Asset], *, with_icon: bool = False) -> list[Asset]:
    """The assets that belong into a PNG: those that the card refers to, and those that come out of a PNG.

    A main icon out of an archive is the picture, and among the assets only `with_icon`.
    """
    references = card.character.assets or ()
    icon = None if with_icon else main_icon(references)
    wanted = {plain_uri(reference.uri) for reference in references if reference is not icon}
    given = {plain_uri(asset.uri): asset for asset in assets}
    return [asset for uri, asset in given.items() if uri in wanted or uri.startswith(PNG_ASSET)]


def name_assets(card: CharacterCard, assets: Iterable[Asset]) -> tuple[CharacterCard, dict[str, bytes]]:
    """The card with references into the PNG, and the text chunks that hold the assets.

    An asset that came out of a PNG keeps its name; the others are numbered from 1. A main icon that is not among them
    is the picture itself.
    """
    given = list(assets)
    kept = {name for asset in given if (name := _own_name(asset)) is not None}
    numbers = (str(number) for number in itertools.count(1) if str(number) not in kept)
    names: dict[str, str] = {}
    chunks: dict[str, bytes] = {}
    for asset in given:
        name = _own_name(asset) or next(numbers)
        names.setdefault(plain_uri(asset.uri), name)
        chunks[f"{ASSET_KEYWORD}:{name}"] = base64.b64encode(asset.read())
    if card.character.assets is None:
        return card, chunks
    moved = tuple(_moved(reference, names) for reference in card.character.assets)
    icon = main_icon(moved)
    if icon is not None and plain_uri(icon.uri).startswith(ARCHIVED):
        moved = tuple(icon.with_(uri=THE_PICTURE) if reference is icon else reference for reference in moved)
    return card.with_(character=card.character.with_(assets=moved)), chunks


def _moved(reference: AssetReference, names: Mapping[str, str]) -> AssetReference:
    name = names.get(plain_uri(reference.uri))
    return reference if name is None else reference.with_(uri=f"{PNG_ASSET}{name}")


def _own_name(asset: Asset) -> str | None:
    """The name that the asset has in a PNG already, if that can be a chunk's keyword."""
    name = asset.uri.removeprefix(PNG_ASSET)
    is_fit = asset.uri.startswith(PNG_ASSET) and 0 < len(name) <= LONGEST_NAME and "\0" not in name
    return name if is_fit and name == name.strip() and all(ord(letter) < 256 for letter in name) else None
