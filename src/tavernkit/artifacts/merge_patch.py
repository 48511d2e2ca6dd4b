"""JSON merge patches (RFC 7396): objects are merged key by key, null deletes, everything else replaces."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.values import Json

__all__ = ["merge_patch"]


def merge_patch(target: Json, patch: Json) -> Json:
    """The target as the patch makes it; neither is changed."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged
