"""Characters as numbers, numbers in base 16, and texts made unreadable and readable again."""

from __future__ import annotations

import math
from base64 import b64encode

from tavernkit.risuai.cbs.call import CBSCall
from tavernkit.risuai.cbs.functions.arguments import number_at, text_at
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.risuai.chance import pick_hash_rand
from tavernkit.text.js_base64 import decode_base64
from tavernkit.text.js_numbers import number_to_string, parse_int, to_fixed, to_integer, to_number
from tavernkit.text.js_strings import from_units, utf16_units, well_formed

_UNITS = 65536
_USUAL_SHIFT = 32768
_FLIPPED = bytes(byte ^ 0xFF for byte in range(256))
_BYTE_ORDER_MARK = "\ufeff"

ENCODING = FunctionPack(
    "encoding",
    {
        "unicodedecode": lambda call: from_units([_unit(number_at(call, 0))]),
        "u unicodedecodefromhex ue unicodeencodefromhex": lambda call: from_units(
            [_unit(parse_int(text_at(call, 0), 16))]
        ),
        "fromhex": lambda call: number_to_string(parse_int(text_at(call, 0), 16)),
        "hash": lambda call: to_fixed(pick_hash_rand(0, call.need(0)) * 10_000_000 + 1).rjust(7, "0"),
    },
)


@ENCODING.function("unicodeencode")
def unicode_encode(call: CBSCall) -> str:
    units = utf16_units(call.need(0))
    index = to_integer(number_at(call, 1)) if call.get(1) else 0
    return str(units[int(index)]) if 0 <= index < len(units) else "NaN"


def _unit(number: float) -> int:
    """The number as one UTF-16 unit: without its fraction, and counted round."""
    return int(to_integer(number)) % _UNITS if math.isfinite(number) else 0


@ENCODING.function("tohex")
def to_hex(call: CBSCall) -> str:
    number = parse_int(text_at(call, 0))
    return f"{int(number):x}" if math.isfinite(number) else number_to_string(number)


@ENCODING.function("xor", "xorencrypt", "xorencode", "xore")
def xor(call: CBSCall) -> str:
    data = well_formed(call.get(0) or "").encode()
    return b64encode(data.translate(_FLIPPED)).decode("ascii")


@ENCODING.function("xordecrypt", "xordecode", "xord")
def xor_decrypt(call: CBSCall) -> str:
    data = decode_base64(call.need(0)).translate(_FLIPPED)
    return data.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK)


@ENCODING.function("crypt", "crypto", "caesar", "encrypt", "decrypt")
def crypt(call: CBSCall) -> str:
    units = utf16_units(call.need(0))
    shift = to_number(call.get(1) or "NaN")
    shift = _USUAL_SHIFT if math.isnan(shift) else shift
    shifted = (unit + shift for unit in units)
    return from_units(_unit(unit - _UNITS if unit >= _UNITS else unit) for unit in shifted)
