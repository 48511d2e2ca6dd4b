"""`.risum`: a RisuAI module in one file, with the bytes of its assets behind it."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tavernkit.characters.limits import DEFAULT_LIMITS, CardLimits
from tavernkit.errors import ParseError, UnsupportedVersionError
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, kind_of, parse_json
from tavernkit.risuai.files.rpack import decode_rpack, encode_rpack
from tavernkit.risuai.module import Module, read_module, write_module
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, JsonObject, Value

MAGIC = 0x6F
VERSION = 0
ASSET = 1
END = 0
MODULE_TYPE = "risuModule"
_LENGTH = struct.Struct("<I")


class ModuleFile(Value, frozen=True, kw_only=True):
    """A module and the bytes of its assets, in the order in which the module names them."""

    module: Module
    assets: tuple[bytes, ...] = ()
    report: ImportReport


def is_risum(data: bytes) -> bool:
    """Whether the bytes begin as a `.risum` file does."""
    return data[:2] == bytes((MAGIC, VERSION))


def read_risum(data: bytes, *, limits: CardLimits = DEFAULT_LIMITS) -> ModuleFile:
    """Read a `.risum` file; raises a ParseError that says where it is damaged or too large."""
    if len(data) > limits.file_bytes:
        raise ParseError(f"The module has {len(data):,} bytes; at most {limits.file_bytes:,} are read.")
    source, end = _read_main(data, limits)
    assets = tuple(decode_rpack(packed) for packed in _read_assets(data, end, limits))
    named = source.get("assets")
    count = len(named) if isinstance(named, list) else 0
    if len(assets) > count:
        raise ParseError(f"The module is damaged: it names {count:,} assets and contains {len(assets):,}.")
    report = ReportBuilder()
    if len(assets) < count:
        report.broken("assets", f"the module names {count:,} assets and contains only {len(assets):,}")
    module = read_module(LooseObject(source, report))
    return ModuleFile(module=module, assets=assets, report=report.build("risum"))


def write_risum(module: Module, assets: tuple[bytes, ...] = ()) -> bytes:
    """Write a `.risum` file as RisuAI does; an asset that the module names and `assets` lacks is written empty."""
    source = write_module(module)
    named = source.get("assets")
    names = [_asset_line(item) for item in named] if isinstance(named, list) else []
    if len(assets) > len(names):
        raise ValueError(f"The module names {len(names)} assets, but the bytes of {len(assets)} were given.")
    main = to_json({"module": {**source, "assets": names}, "type": MODULE_TYPE}, indent=2)
    parts = [bytes((MAGIC, VERSION)), *_block(main.encode())]
    for place in range(len(names)):
        parts += [bytes((ASSET,)), *_block(assets[place] if place < len(assets) else b"")]
    return b"".join((*parts, bytes((END,))))


def _read_main(data: bytes, limits: CardLimits) -> tuple[JsonObject, int]:
    if data[:1] != bytes((MAGIC,)):
        raise ParseError("This is not a RisuAI module: it does not start as a .risum file does.")
    if data[1:2] != bytes((VERSION,)):
        version = str(data[1]) if len(data) > 1 else "none"
        raise UnsupportedVersionError(f"The module is of the file version {version}; only version {VERSION} is read.")
    packed, end = _read_block(data, 2, "description")
    main = parse_json(
        decode_rpack(packed), what="The module", max_bytes=limits.json_bytes, max_values=limits.json_values
    )
    if not isinstance(main, dict) or main.get("type") != MODULE_TYPE:
        raise ParseError(f"This is not a RisuAI module: its type is not {MODULE_TYPE}. It may be encrypted.")
    module = main.get("module")
    if not isinstance(module, dict):
        raise ParseError(f"The module is damaged: where the module should be, there is {kind_of(module)}.")
    return module, end


def _read_assets(data: bytes, position: int, limits: CardLimits) -> Iterator[bytes]:
    for number in range(limits.assets + 1):
        mark = data[position : position + 1]
        if mark == bytes((END,)):
            return
        if mark != bytes((ASSET,)):
            raise ParseError(f"The module is cut off or damaged at byte {position:,}, after {number} assets.")
        packed, position = _read_block(data, position + 1, f"asset {number + 1}")
        yield packed
    raise ParseError(f"The module contains more than {limits.assets:,} assets.")


def _read_block(data: bytes, position: int, what: str) -> tuple[bytes, int]:
    start = position + _LENGTH.size
    if start > len(data):
        raise ParseError(f"The module is cut off at byte {len(data):,}, before its {what}.")
    (length,) = _LENGTH.unpack_from(data, position)
    end = start + length
    if end > len(data):
        raise ParseError(
            f"The module is cut off: its {what} should have {length:,} bytes, {len(data) - start:,} are left."
        )
    return data[start:end], end


def _block(data: bytes) -> tuple[bytes, bytes]:
    return _LENGTH.pack(len(data)), encode_rpack(data)


def _asset_line(item: Json) -> list[Json]:
    """The name and kind of file of an asset, without the place where it was kept."""
    parts = item if isinstance(item, list) else []
    return [parts[0] if parts else None, "", parts[2] if len(parts) > 2 else None]
