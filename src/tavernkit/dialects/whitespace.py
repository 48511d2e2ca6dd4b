"""Trimming as JavaScript does it, so that prompts agree with SillyTavern's to the byte."""

from __future__ import annotations

_BLANK = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_BLANK += "\u2028\u2029\u202f\u205f\u3000\ufeff"


def trim(text: str) -> str:
    return text.strip(_BLANK)


def trim_end(text: str) -> str:
    return text.rstrip(_BLANK)
