"""Names that look like another: letters of one script that stand for those of another, and words that mix scripts.

The letters are those that Unicode's list of confusable characters (UTS #39, confusables.txt) gives for Latin ones. What
the list leaves out cannot stand among Latin letters either, because no word may mix scripts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

# Scripts that are written together; every other word has one alone.
_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
)

_LIKE_LATIN = {
    "a": "ɑαа",
    "b": "ƄЬᏏᑲᖯ",
    "c": "сᴄⲥꮯ",
    "d": "ԁᏧᑯꓒ",
    "e": "еҽꬲ",
    "f": "քẝꞙꬵ",
    "g": "ƍɡցᶃ",
    "h": "һհᏂ",
    "i": "ıɩɪιіӏᎥꙇꭵ",
    "j": "ϳј",
    "l": "ƖǀΙІӀᛁⲒⵏꓲ",
    "n": "ոռ",
    "o": "οσоօഠဝჿᴏᴑⲟꬽ",
    "p": "ρрⲣ",
    "q": "ԛգզ",
    "r": "гᴦⲅꭇꭈꮁ",
    "s": "ƽѕꜱꮪ",
    "u": "ʋυսᴜꞟꭎꭒ",
    "v": "νѵᴠꮩ",
    "w": "ɯѡԝաᴡꮃ",
    "x": "хᕁᕽ",
    "y": "ɣʏγуүყᶌỿꭚ",
    "z": "ᴢꮓ",
    "A": "ΑАᎪᗅꓮ",
    "B": "ΒВᏴᗷꓐꞴ",
    "C": "СᏟⲤꓚ",
    "D": "Ꭰᗞᗪꓓ",
    "E": "ΕЕᎬⴹꓰ",
    "F": "ϜᖴꓝꞘ",
    "G": "ԌᏀᏳꓖ",
    "H": "ΗНᎻᕼⲎꓧ",
    "J": "ͿЈᎫᒍꓙꞲ",
    "K": "ΚКᏦᛕⲔꓗ",
    "L": "ᏞᒪⳐꓡ",
    "M": "ΜϺМᎷᗰᛖⲘꓟ",
    "N": "ΝⲚꓠ",
    "O": "ΟОՕଠዐⲞⵔꓳ",
    "P": "ΡРᏢᑭⲢꓑ",
    "Q": "ⵕ",
    "R": "ƦᎡᏒᖇꓣ",
    "S": "ЅՏᏕᏚꓢ",
    "T": "ΤТᎢⲦꓔ",
    "U": "Սሀᑌꓴ",
    "V": "ѴᏙᐯⴸꓦꛟ",
    "W": "ԜᎳᏔꓪ",
    "X": "ΧХᚷⲬⵝꓫꞳ",
    "Y": "ΥУҮᎩᎽⲨꓬ",
    "Z": "ΖᏃꓜ",
}
_TO_LATIN = str.maketrans({letter: latin for latin, letters in _LIKE_LATIN.items() for letter in letters})
_LIKE_KANJI = str.maketrans("エカタトニハロ", "工力夕卜二八口")
# Only as they are written: `I` is like `l`, but `i` is not.
_AS_WRITTEN = str.maketrans({"I": "l", "1": "l", "|": "l", "0": "O", "m": "rn"})


def is_like_one_of(name: str, others: Iterable[str]) -> bool:
    """Whether people could take a name for one of the others."""
    shapes = _shapes(name)
    return any(shape == theirs for other in others for shape, theirs in zip(shapes, _shapes(other), strict=True))


def mixes_scripts(name: str) -> bool:
    """Whether a word of the name has letters of scripts that nobody writes together."""
    return any(_is_mixed({_script(c) for c in word if _is_letter(c)}) for word in name.split())


def _shapes(name: str) -> tuple[str, str, str]:
    """The name without case, its Latin shape without case, and its Latin shape as written."""
    name = unicodedata.normalize("NFKC", name)
    latin = name.translate(_TO_LATIN).translate(_LIKE_KANJI)
    return name.casefold(), latin.casefold(), latin.translate(_AS_WRITTEN)


def _is_mixed(scripts: set[str]) -> bool:
    return len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER)


def _is_letter(character: str) -> bool:
    # Not modifiers, which belong to several scripts.
    return unicodedata.category(character) in ("Lu", "Ll", "Lt", "Lo")


def _script(letter: str) -> str:
    """The name of a letter begins with its script, as in CYRILLIC SMALL LETTER A."""
    return unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]
