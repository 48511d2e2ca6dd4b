"""The legacy engine of SillyTavern 1.15."""

from __future__ import annotations

from tavernkit.conformance.macro_cases import compare
from tavernkit.sillytavern.macros.legacy import LegacyMacros
from tavernkit.values import Json, JsonObject

_ENGINE = LegacyMacros()


def check(case: JsonObject) -> tuple[Json, Json]:
    return compare({**case, "env": _with_number(case["env"])}, _ENGINE)


def _with_number(env: JsonObject) -> JsonObject:
    """This engine prints the first included message as it is stored, be it a number or text; ours is a number."""
    metadata = env.get("chat_metadata", {})
    included = metadata.get("lastInContextMessageId")
    if not isinstance(included, str) or not included.isdecimal():
        return env
    return {**env, "chat_metadata": {**metadata, "lastInContextMessageId": int(included)}}
