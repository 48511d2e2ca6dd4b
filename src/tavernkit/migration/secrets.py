"""Keys, passwords and private addresses in settings and presets: blanked before anybody keeps the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tavernkit.errors import ParseError
from tavernkit.migration.files import FileKind
from tavernkit.migration.json_edit import EditableJson, JsonPath, JsonSpot, Piece

FIELDS = frozenset(
    {"reverse_proxy", "proxy_password", "custom_url", "custom_include_headers", "custom_include_body"}
    | {"custom_exclude_body", "workers_ai_account_id"}
)
"""Fields of presets, and of the settings that are made of them. SillyTavern leaves most of them out of exports."""

_PROVIDER_FIELD = re.compile(r"(?:azure|vertexai)_(?!.*(?:model|mode|version)$).*")
_PROXIES = frozenset({"proxies", "selected_proxy"})
_IN_PROXY = frozenset({"url", "password"})
_EXTENSIONS = frozenset({"extension_settings", "extensions"})
# What people have written under names of their own: variables, and texts by the names of characters.
_OF_PEOPLE = (
    *(("variables",), ("note",), ("gallery", "folders")),
    *(("sd", "character_prompts"), ("sd", "character_negative_prompts")),
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ALWAYS_SECRET = frozenset({"apikey", "password", "passwd", "passphrase", "secret"})
_SECRET_IN_EXTENSIONS = _ALWAYS_SECRET | {
    *("auth", "authorization", "bearer", "cookie", "cookies", "credential", "credentials", "headers", "token"),
}
_TOKENS_OF_MODELS = frozenset({"start", "end", "stop", "eos", "bos", "pad", "max", "min", "special", "separator"})
# A key is called so in many ways; what is none has spaces, or is short.
_LIKE_A_KEY = re.compile(r"[\w.:/+=~-]{16,}")
_HAS_DIGIT = re.compile(r"[0-9]")

_SETTINGS = re.compile(r"(?:backups/(?:.*/)?)?settings[^/]*", re.IGNORECASE | re.DOTALL)
_NEVER_SECRET = re.compile(r"(?:vectors|thumbnails|assets|themes|movingUI)/.*", re.DOTALL)
_BLANK = {'"': '""', "{": "{}", "[": "[]"}


def without_secrets(path: str, kind: FileKind, data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The bytes of a file with its keys, passwords and private addresses blanked, and where they stood; the same object
    where there are none. Every other byte stays as it is.

    Raises ParseError for settings and presets that are damaged, since nobody can tell what in them is a key.
    """
    is_settings = kind == "settings" or (kind in ("kept", "derived") and _SETTINGS.fullmatch(path) is not None)
    is_other = kind in ("kept", "derived") and path.endswith(".json") and not _NEVER_SECRET.fullmatch(path)
    if not is_settings and kind != "preset" and not is_other:
        return data, ()
    try:
        source = EditableJson(data, what="The file")
    except ParseError as error:
        if is_other and not is_settings:
            return data, ()
        raise ParseError(f"The file may hold keys and cannot be cleaned of them, so it is not kept: {error}") from None
    found = {spot.start: (path, spot) for path, spot in _secrets(source) if _is_filled(source, spot)}
    if not found:
        return data, ()
    pieces = [Piece(spot.start, spot.end, _BLANK[source.kind(spot)]) for _, spot in found.values()]
    return source.replaced(pieces), tuple(dict.fromkeys(_written(path) for path, _ in found.values()))


def _is_filled(source: EditableJson, spot: JsonSpot) -> bool:
    blank = _BLANK.get(source.kind(spot))
    return blank is not None and spot.end - spot.start > len(blank)


def _secrets(source: EditableJson) -> Iterator[tuple[JsonPath, JsonSpot]]:
    """Every value that is a secret by its name; what is inside one is not looked at again."""
    waiting: list[tuple[JsonPath, JsonSpot]] = [((), source.root)]
    while waiting:
        path, spot = waiting.pop()
        if path and _is_secret(source, path, spot):
            yield path, spot
            continue
        waiting += [((*path, child.key), child) for child in reversed(spot.children)]


def _is_secret(source: EditableJson, path: JsonPath, spot: JsonSpot) -> bool:
    name = next((key for key in reversed(path) if isinstance(key, str)), "")
    if name in FIELDS or _PROVIDER_FIELD.fullmatch(name):
        return True
    if source.kind(spot) != '"':
        return False
    names = tuple(key for key in path if isinstance(key, str))
    if len(names) > 1 and names[-2] in _PROXIES and name in _IN_PROXY:
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    inside = next((names[place + 1 : -1] for place, key in enumerate(names[:2]) if key in _EXTENSIONS), None)
    if inside is None:
        return _is_named_secret(words, _ALWAYS_SECRET)
    if any(inside[: len(own)] == own for own in _OF_PEOPLE):
        return False
    return _is_named_secret(words, _SECRET_IN_EXTENSIONS) or _is_key(words, source.text[spot.start + 1 : spot.end - 1])


def _is_named_secret(words: list[str], names: frozenset[str]) -> bool:
    if "apikey" in words or ("api", "key") in pairwise(words):
        return True
    if not words or not words[-1].endswith(tuple(names)):
        return False
    return not words[-1].endswith("token") or not _TOKENS_OF_MODELS.intersection(words)


def _is_key(words: list[str], text: str) -> bool:
    """Something that is called a key may be one of a keyboard, or one of a list."""
    return words[-1:] == ["key"] and _LIKE_A_KEY.fullmatch(text) is not None and _HAS_DIGIT.search(text) is not None


def _written(path: JsonPath) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")
