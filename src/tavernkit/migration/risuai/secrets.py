"""Secrets in RisuAI's database: keys, tokens, accounts and private addresses, which nobody is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tavernkit.risuai.files.preset_file import SECRETS as OF_PRESETS
from tavernkit.values import Json

ACCOUNT = "account"
_NAMED = re.compile(
    r".*(?:Key|API|Token|Secret|Password|Authorization)|(?:api|access|refresh|private|secret)[_-]?(?:key|token)"
    r"|token|password|passwd|secret|auth|authorization|bearer|cookie|key|jwt",
)
"""Names of fields that hold secrets. Some of them are harmless elsewhere, so only these places are looked into."""
_KEYLESS = frozenset({"hotkeys", "loreBook", "globalscript", "presetRegex", "promptTemplate", "globalChatVariables"})
"""Fields whose content is the person's own, and whose keys are keys of another kind."""
_WHOLE = frozenset({"OaiCompAPIKeys", "authRefreshes", "mancerHeader", "vertexClientEmail", "realArg"})
_ADDRESSES = frozenset(
    {*OF_PRESETS, "koboldURL", "webUiUrl", "comfyUiUrl", "ollamaURL", "keiServerURL", "requestproxy"}
)
_HEADER = re.compile(r"^\s*header::.*$", re.MULTILINE | re.IGNORECASE)


def without_secrets(fields: Mapping[str, Json]) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The database's own fields, or a preset, with secrets blanked and without an account; and the names of what was
    blanked."""
    found: list[str] = []
    kept = {key: value for key, value in fields.items() if key != ACCOUNT}
    if fields.get(ACCOUNT):
        found.append(ACCOUNT)
    return {key: _blanked(key, value, key, found) for key, value in kept.items()}, tuple(dict.fromkeys(found))


def _blanked(key: str, value: Json, path: str, found: list[str]) -> Json:
    if key in _WHOLE or key in _ADDRESSES:
        return _emptied(value, lambda: found.append(path))
    match value:
        case str():
            if value and _NAMED.fullmatch(key):
                found.append(path)
                return ""
            if "header::" in value:
                found.append(path)
                return _HEADER.sub("", value)
            return value
        case dict() if key not in _KEYLESS:
            return {name: _blanked(name, item, f"{path}.{name}", found) for name, item in value.items()}
        case list() if key == "additionalParams":
            return [_without_header(item, path, found) for item in value]
        case list() if key not in _KEYLESS:
            return [_blanked(key, item, path, found) for item in value]
        case _:
            return value


def _without_header(pair: Json, path: str, found: list[str]) -> Json:
    """A parameter of requests; one that is a header has no value any more."""
    if isinstance(pair, list) and len(pair) == 2 and str(pair[0]).lower().startswith("header::") and pair[1]:
        found.append(path)
        return [pair[0], ""]
    return pair


def _emptied(value: Json, note: Callable[[], None]) -> Json:
    """The same shape without any text."""
    match value:
        case str():
            if value:
                note()
            return ""
        case dict():
            return {key: _emptied(item, note) for key, item in value.items()}
        case list():
            return [_emptied(item, note) for item in value]
        case _:
            return value
