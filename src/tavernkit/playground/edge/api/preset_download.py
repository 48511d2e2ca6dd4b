"""A preset as a file to be saved."""

from __future__ import annotations

from fastapi import Response

from tavernkit.playground.base.database.models import Preset
from tavernkit.playground.edge.api.files import attachment, json_download
from tavernkit.playground.story.presets.kinds import RISUAI, decode_preset
from tavernkit.risuai.files import write_preset_file
from tavernkit.risuai.settings import RisuSettings as RisuSettings


def download(row: Preset) -> Response:
    """The preset as a file of the platform that it is for."""
    preset = decode_preset(row.kind, row.data)[0] if row.kind == RISUAI else None
    if not isinstance(preset, RisuSettings):
        return json_download(row.name, row.data)
    return Response(
        write_preset_file(preset), media_type="application/octet-stream", headers=attachment(row.name, "risup")
    )
