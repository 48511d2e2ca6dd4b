"""Taking a card file apart into files with safe names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tavernkit.characters import Asset, Bundle, WritableSpec, to_json
from tavernkit.cli.errors import BatchError, FileError, about
from tavernkit.cli.files import is_standard, write_output
from tavernkit.cli.output import Printer, to_json_bytes
from tavernkit.lore.files import write_world_info
from tavernkit.text.invisible import without_invisible
from tavernkit.values import Value

LONGEST_NAME = 120
UNSAFE = re.compile(r"[^\w.\- ]+")
# Names that Windows keeps for devices, whatever their extension.
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
PICTURES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp"}


class ExtractedFile(Value, frozen=True, kw_only=True):
    """A file to be written; `uri` is how the card refers to it."""

    path: Path
    kind: str
    read: Callable[[], bytes]
    uri: str | None = None


class Extracted(Value, frozen=True, kw_only=True):
    """A file that was written."""

    path: str
    kind: str
    bytes: int
    uri: str | None = None


def default_folder(file: Path) -> Path:
    """A folder named after the file, beside it."""
    if is_standard(file):
        return Path("card")
    return file.with_suffix("") if file.suffix else file.with_name(f"{file.name}-card")


def parts(bundle: Bundle) -> Iterator[ExtractedFile]:
    """Everything that can be taken out of a card file; the paths are relative and lead nowhere else."""
    card = bundle.card
    spec: WritableSpec = "v2" if card.spec == "v2" else "v3"
    text = f"{to_json(card, spec)}\n".encode()
    yield ExtractedFile(path=Path("card.json"), kind="card", read=lambda: text)
    if (image := bundle.image) is not None:
        yield ExtractedFile(path=Path(f"main.{_extension(image)}"), kind="picture", read=lambda: image)
    if (book := card.character.character_book) is not None:
        lore = to_json_bytes(write_world_info(book))
        yield ExtractedFile(path=Path("lorebook.json"), kind="lorebook", read=lambda: lore)
    names = safe_names([_asset_name(asset, bundle) for asset in bundle.assets])
    for asset, name in zip(bundle.assets, names, strict=True):
        yield ExtractedFile(path=Path("assets") / name, kind="asset", read=asset.read, uri=asset.uri)


def _asset_name(asset: Asset, bundle: Bundle) -> str:
    """The asset's own name; one that has no extension, as in a PNG, takes it from the card's reference."""
    if Path(asset.name).suffix:
        return asset.name
    references = bundle.card.character.assets or ()
    reference = next((each for each in references if bundle.asset(each.uri) is asset), None)
    return asset.name if reference is None else f"{reference.type}-{reference.name}.{reference.ext}"


def safe_names(names: Sequence[str]) -> list[str]:
    """One plain file name for each of `names`, all different, also where upper and lower case are the same."""
    taken: set[str] = set()
    safe = []
    for name in names:
        free = _free(_safe(name), taken)
        taken.add(free.casefold())
        safe.append(free)
    return safe


def _safe(name: str) -> str:
    folders = [part for part in re.split(r"[/\\]", name) if part.strip(". ")]
    if len(folders) > 1 and folders[0] == "assets":
        del folders[0]
    # Windows drops dots and spaces at the end, and a dot at the beginning hides a file elsewhere.
    joined = UNSAFE.sub("_", without_invisible("-".join(folders))).strip(". ")
    path = Path(joined or "unnamed")
    suffix = path.suffix[:16].rstrip(". ")
    short = path.stem[: LONGEST_NAME - len(suffix)].rstrip(". ") + suffix
    return f"_{short}" if RESERVED.fullmatch(short) else short


def _free(name: str, taken: set[str]) -> str:
    path = Path(name)
    candidate = name
    number = 2
    while candidate.casefold() in taken:
        candidate = f"{path.stem}-{number}{path.suffix}"
        number += 1
    return candidate


def _extension(image: bytes) -> str:
    return next((extension for start, extension in PICTURES.items() if image.startswith(start)), "bin")


def write_part(part: ExtractedFile, folder: Path, *, source: Path, force: bool) -> Extracted:
    """Write one file; raises FileError when it is damaged inside its card file, BatchError when nothing can be written:
    a full disk or a closed folder would fail for every other part."""
    with about(source):
        data = part.read()
    try:
        write_output(folder / part.path, data, force=force)
    except FileError as error:
        raise BatchError([error]) from error
    return Extracted(path=part.path.as_posix(), kind=part.kind, bytes=len(data), uri=part.uri)


def print_extracted(printer: Printer, folder: Path, written: Sequence[Extracted]) -> None:
    printer.table(("file", "kind", "bytes"), [(str(folder / part.path), part.kind, part.bytes) for part in written])
