"""Profiles for tests, in one line each."""

from __future__ import annotations

from tavernkit.values import Json

__all__ = ["content"]


def content(*tags: str, pipeline: str = "world") -> dict[str, Json]:
    """A profile whose pipeline makes an artifact with each of these tags."""
    steps = [
        {
            "id": f"make_{number}",
            "kind": "template",
            "hook": "after",
            "template": "{{ now }}",
            "artifacts": [{"tag": tag, "visibility": "ui_only", "uiSurface": f"panel:{tag}"}],
        }
        for number, tag in enumerate(tags)
    ]
    return {"pipelines": [{"id": pipeline, "permissions": ["artifact_write"], "steps": steps}]}
