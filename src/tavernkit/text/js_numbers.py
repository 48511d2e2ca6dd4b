"""Numbers as JavaScript reads them from text and writes them to text."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal

from tavernkit.text.js_strings import JS_WHITESPACE, js_trim

# Nothing is given back, or a long row of digits would be tried in all its divisions.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_OTHER_BASE = re.compile(r"0(?:[xX](?P<hex>[0-9a-fA-F]+)|[oO](?P<octal>[0-7]+)|[bB](?P<binary>[01]+))")
_FLOAT_PREFIX = re.compile(r"[+-]?Infinity|" + _DECIMAL.pattern)
_INFINITIES = {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SMALLEST_RADIX, _LARGEST_RADIX = 2, 36
_LAST_PLAIN_EXPONENT = 21
_LARGEST_FIXED = 1e21
_EXACT = Context(prec=400)  # more digits than a number below 1e21 has in front of and behind its point
_FIRST_PLAIN_EXPONENT = -6


def to_number(text: str) -> float:
    """What `Number(text)` gives; not-a-number for text that is no number, zero for text that is blank."""
    trimmed = js_trim(text)
    if not trimmed:
        return 0.0
    if trimmed in _INFINITIES:
        return _INFINITIES[trimmed]
    if _DECIMAL.fullmatch(trimmed):
        return float(trimmed)
    return _from_other_base(trimmed)


def _from_other_base(text: str) -> float:
    match = _OTHER_BASE.fullmatch(text)
    if match is None:
        return math.nan
    base = {"hex": 16, "octal": 8, "binary": 2}[match.lastgroup or ""]
    try:
        return float(int(text[2:], base))
    except OverflowError:
        return math.inf


def parse_float(text: str) -> float:
    """What `parseFloat(text)` gives: the number that the text begins with, or not-a-number."""
    match = _FLOAT_PREFIX.match(text.lstrip(JS_WHITESPACE))
    if match is None:
        return math.nan
    return _INFINITIES[match[0]] if match[0].endswith("y") else float(match[0])


def parse_int(text: str, radix: int = 0) -> float:
    """What `parseInt(text, radix)` gives: the whole number that the text begins with, or not-a-number."""
    text = text.lstrip(JS_WHITESPACE)
    sign = -1.0 if text.startswith("-") else 1.0
    text = text[1:] if text.startswith(("-", "+")) else text
    if radix in (0, 16) and text[:2].lower() == "0x":
        text, radix = text[2:], 16
    radix = radix or 10
    if not _SMALLEST_RADIX <= radix <= _LARGEST_RADIX:
        return math.nan
    digits = re.match(f"[{_DIGITS[:radix]}]*", text.lower())
    if digits is None or not digits[0]:
        return math.nan
    return sign * _whole(digits[0], radix)


def _whole(digits: str, radix: int) -> float:
    if radix == 10:  # Python's float takes any count of decimal digits, its int does not
        return float(digits)
    try:
        return float(int(digits, radix))
    except OverflowError:
        return math.inf


def js_floor(number: float) -> float:
    """What `Math.floor(number)` gives; what is not finite stays as it is."""
    return float(math.floor(number)) if math.isfinite(number) else number


def js_round(number: float) -> float:
    """What `Math.round(number)` gives: the nearest whole number, and the upper one of two that are as near."""
    below = js_floor(number)
    return below + 1 if number - below >= 0.5 else below


def js_remainder(left: float, right: float) -> float:
    """What `left % right` gives; its sign is that of the left side."""
    if math.isinf(left) or right == 0:
        return math.nan
    return math.fmod(left, right)


def js_power(base: float, exponent: float) -> float:
    """What `base ** exponent` gives."""
    if math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    is_odd = exponent % 2 == 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and is_odd else math.inf
    except ValueError:
        if base != 0:
            return math.nan
        return math.copysign(math.inf, base) if is_odd else math.inf


def to_integer(number: float) -> float:
    """The number without its fraction, as JavaScript takes counts and places; not-a-number counts as zero."""
    if math.isnan(number):
        return 0.0
    return float(math.trunc(number)) if math.isfinite(number) else number


def to_fixed(number: float, digits: int = 0) -> str:
    """What `number.toFixed(digits)` gives; the count of digits is 0 to 100, which the caller sees to."""
    if not abs(number) < _LARGEST_FIXED:
        return number_to_string(number)
    written = Decimal(abs(number)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _EXACT)
    return ("-" if number < 0 else "") + f"{written:f}"


def number_to_string(number: float) -> str:
    """What `String(number)` gives: the fewest digits that mean this number, plain from 1e-6 up to 1e21."""
    number = _as_double(number)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    digits, exponent = _shortest(abs(number))
    return sign + _write(digits, exponent)


def _as_double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _shortest(number: float) -> tuple[str, int]:
    """The digits without zeros at the ends, and the place of the point: the number is 0.digits times ten to it."""
    mantissa, _, power = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    exponent = len(whole) + int(power or 0)
    leading = len(digits) - len(digits.lstrip("0"))
    return digits.strip("0"), exponent - leading


def _write(digits: str, exponent: int) -> str:
    if len(digits) <= exponent <= _LAST_PLAIN_EXPONENT:
        return digits.ljust(exponent, "0")
    if 0 < exponent <= _LAST_PLAIN_EXPONENT:
        return f"{digits[:exponent]}.{digits[exponent:]}"
    if _FIRST_PLAIN_EXPONENT < exponent <= 0:
        return f"0.{'0' * -exponent}{digits}"
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{mantissa}e{exponent - 1:+d}"
