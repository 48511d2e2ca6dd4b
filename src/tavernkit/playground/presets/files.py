"""Preset files of both platforms."""

from __future__ import annotations

from fastapi import Response

from tavernkit.playground.api.files import attachment, json_download
from tavernkit.playground.database.models import Preset
from tavernkit.playground.presets.kinds import RISUAI, AnyPreset, decode_preset
from tavernkit.playground.storable import presentable
from tavernkit.reading import ImportReport, parse_json
from tavernkit.risuai.files import is_preset_file, read_preset_file, write_preset_file
from tavernkit.risuai.settings import Settings as RisuSettings
from tavernkit.sillytavern.presets import read_preset
from tavernkit.values import Json

__all__ = ["download", "read_file"]

_OF_RISUAI = frozenset({"promptTemplate", "formatingOrder"})
"""Fields that a preset of RisuAI has, and none of SillyTavern."""


def read_file(file: bytes) -> tuple[AnyPreset, ImportReport, dict[str, Json]]:
    """The preset, what was made of its file, and the file unpacked; raises what the library raises."""
    if is_preset_file(file):
        return _read_risuai(file)
    document: Json = parse_json(file, what="The preset")
    if isinstance(document, dict) and document.keys() & _OF_RISUAI:
        return _read_risuai(file)
    preset, report = read_preset(file)
    return preset, report, document


def download(row: Preset) -> Response:
    """The preset as a file of the platform that it is for."""
    preset = decode_preset(row.kind, row.data)[0] if row.kind == RISUAI else None
    if not isinstance(preset, RisuSettings):
        return json_download(row.name, row.data)
    return Response(
        write_preset_file(preset), media_type="application/octet-stream", headers=attachment(row.name, "risup")
    )


def _read_risuai(file: bytes) -> tuple[AnyPreset, ImportReport, dict[str, Json]]:
    """Written once more, because that leaves the keys of providers out."""
    settings, report = read_preset_file(file)
    return settings, report, presentable(parse_json(write_preset_file(settings, "json"), what="The preset"))
