"""Numbers as JavaScript reads them from text and writes them to text."""

from __future__ import annotations

import math
import re

from tavernkit.text.js_strings import js_trim

__all__ = ["number_to_string", "to_number"]

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_OTHER_BASE = re.compile(r"0(?:[xX](?P<hex>[0-9a-fA-F]+)|[oO](?P<octal>[0-7]+)|[bB](?P<binary>[01]+))")
_INFINITIES = {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}
_LAST_PLAIN_EXPONENT = 21
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
