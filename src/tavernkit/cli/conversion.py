"""Turning card files into other card files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tavernkit.cli.errors import UsageError, about, display_name
from tavernkit.cli.files import is_standard, read_input
from tavernkit.cli.output import plain
from tavernkit.errors import ParseError, PngWriteError
from tavernkit.reading import Note
from tavernkit.values import Value

if TYPE_CHECKING:
    from tavernkit.characters import Asset, Bundle, WritableSpec

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


CardTarget: TypeAlias = Literal["json", "png", "charx"]


class Conversion(Value, frozen=True, kw_only=True):
    """A file that was written; `assets_left_out` counts what the new format has no room for."""

    file: str
    output: str
    bytes: int
    notes: tuple[Note, ...] = ()
    assets_left_out: int = 0


def check_options(to: CardTarget, spec: WritableSpec | None, image: Path | None) -> None:
    """Refuse an option that the format would pass over."""
    if spec is not None and to == "png":
        raise UsageError("A PNG always contains the card in version 2 and version 3. Remove --spec.")
    if spec == "v2" and to == "charx":
        raise UsageError("A CHARX file always contains a card of version 3. Remove --spec v2.")
    if image is not None and to == "json":
        raise UsageError("A JSON file contains no picture. Remove --image.")


def targets(files: Sequence[Path], to: CardTarget, output: Path | None) -> list[Path]:
    """Where each file is written to. Two files may not be written to the same place."""
    if len(files) == 1 and output is not None and not output.is_dir():
        return [output]
    if is_standard(output):
        raise UsageError("Several files cannot be written to standard output. Use a folder.")
    if output is not None and output.exists() and not output.is_dir():
        raise UsageError(f"Several files need a folder as output, but {output} is a file.")
    places = [_beside(file, to) if output is None else output / _name(file, to) for file in files]
    for place, count in Counter(places).items():
        if count > 1:
            raise UsageError(f"{count} files would be written to the same file, {display_name(place)}.")
    return places


def _beside(file: Path, to: CardTarget) -> Path:
    return file if is_standard(file) else file.with_name(_name(file, to))


def _name(file: Path, to: CardTarget) -> str:
    return f"{'card' if is_standard(file) else file.stem}.{to}"


def read_picture(path: Path) -> bytes:
    """Read a picture for cards to be put into, as PNG; raises FileError when it cannot carry one."""
    data = read_input(path)
    with about(path):
        return _as_png(data)


def _as_png(picture: bytes) -> bytes:
    """The picture as a whole PNG; raises PngWriteError for one that is damaged, or needs Pillow to be converted."""
    from tavernkit.characters.png_chunks import put_texts

    if picture.startswith(PNG_SIGNATURE):
        return put_texts(picture, {}, drop=lambda _: False)
    try:
        from tavernkit.playground.base.blobs.pictures import PictureError
        from tavernkit.playground.story.characters.files import read_picture as decode
    except ImportError:
        raise PngWriteError(
            "The picture is not a PNG. Convert it, or install tavernkit[playground] to have it converted."
        ) from None
    try:
        return decode(picture).png.data
    except PictureError as error:
        raise PngWriteError(str(error)) from None


def convert_card(
    file: Path, place: Path, to: CardTarget, spec: WritableSpec, picture: bytes | None
) -> tuple[bytes, Conversion]:
    """Read one card and write it in memory; raises FileError when either cannot be done."""
    from tavernkit.characters import load

    data = read_input(file)
    with about(file):
        bundle = load(data) if to == "charx" else _without_module(load(data))
        if to == "png" and picture is None:
            bundle = _with_png(bundle)
        written = _write(bundle, to, spec, picture)
    conversion = Conversion(
        file=display_name(file),
        output=str(place),
        bytes=len(written),
        notes=bundle.report.notes,
        assets_left_out=_left_out(bundle, to, picture),
    )
    return written, conversion


def _without_module(bundle: Bundle) -> Bundle:
    """The card with what RisuAI keeps in a module beside it; a module that cannot be read stays a file."""
    from tavernkit.risuai.files import MODULE_FILE, module_of, with_module

    try:
        module = module_of(bundle)
    except ParseError:
        return bundle
    if module is None:
        return bundle
    card = bundle.card.with_(character=with_module(bundle.card.character, module))
    return bundle.with_(card=card, assets=tuple(asset for asset in bundle.assets if asset.name != MODULE_FILE))


def _with_png(bundle: Bundle) -> Bundle:
    """The bundle with a PNG as its picture. One that cannot be used makes room for a plain picture, and is kept as an
    asset where it is a file of its own."""
    image = bundle.image
    if image is None:
        return bundle
    try:
        png = _as_png(image)
    except PngWriteError as error:
        note = f"a plain picture is used instead of the card's own. {error}"
        kept = bundle if bundle.format in ("png", "apng") else _with_icon(bundle, image)
        return _noted(kept, note).with_(image=None)
    if image.startswith(PNG_SIGNATURE):
        return bundle
    return _noted(bundle, "the picture was converted to PNG").with_(image=png)


def _with_icon(bundle: Bundle, image: bytes) -> Bundle:
    """The bundle with its picture among its assets."""
    from tavernkit.characters import Asset, AssetReference
    from tavernkit.characters.ingest.charx import main_icon

    character = bundle.card.character
    icon = main_icon(character.assets or ())
    if icon is not None and bundle.asset(icon.uri) is not None:
        return bundle
    kept = Asset.of("picture", image)
    reference = AssetReference(type="icon", uri=kept.uri, name="main", ext=bundle.format)
    return bundle.with_(
        card=bundle.card.with_(character=character.with_(assets=(*(character.assets or ()), reference))),
        assets=(*bundle.assets, kept),
    )


def _noted(bundle: Bundle, message: str) -> Bundle:
    note = Note(path="picture", outcome="converted", message=message)
    return bundle.with_(report=bundle.report.with_(notes=(*bundle.report.notes, note)))


def _write(bundle: Bundle, to: CardTarget, spec: WritableSpec, picture: bytes | None) -> bytes:
    from tavernkit.characters import to_charx, to_json, to_png

    image = bundle.image if picture is None else picture
    match to:
        case "json":
            return f"{to_json(bundle.card, spec)}\n".encode()
        case "png":
            return to_png(bundle.card, image, () if _keeps_chunks(bundle, picture) else _for_png(bundle, image))
        case "charx":
            return to_charx(bundle.card, image, bundle.assets)


def _left_out(bundle: Bundle, to: CardTarget, picture: bytes | None) -> int:
    from tavernkit.characters.ingest.charx import main_icon

    if to == "json":
        return len(bundle.assets)
    if to == "charx" or _keeps_chunks(bundle, picture):
        return 0
    left_out = len(bundle.assets) - len(_for_png(bundle, picture or bundle.image))
    icon = main_icon(bundle.card.character.assets or ())
    # The icon is not left out where it is the picture.
    is_picture = icon is not None and bundle.asset(icon.uri) is not None and not picture and bundle.image is not None
    return left_out - is_picture


def _keeps_chunks(bundle: Bundle, picture: bytes | None) -> bool:
    """A PNG keeps the assets in its own chunks when its own picture is used again."""
    return bundle.format in ("png", "apng") and picture is None and bundle.image is not None


def _for_png(bundle: Bundle, image: bytes | None) -> list[Asset]:
    """The assets that the card refers to; its main icon only where it is not the picture."""
    from tavernkit.characters.png_assets import assets_for_png

    return assets_for_png(bundle.card, bundle.assets, with_icon=image is None)


def print_conversions(conversions: Sequence[Conversion]) -> None:
    """Say what was written on standard error, as standard output may be the file itself."""
    for conversion in conversions:
        count = conversion.assets_left_out
        left_out = f", {count} {'asset' if count == 1 else 'assets'} left out" if count else ""
        where = "standard output" if conversion.output == "-" else conversion.output
        line = f"{conversion.file} -> {where} ({conversion.bytes:,} bytes{left_out})"
        print(plain(line), file=sys.stderr)
