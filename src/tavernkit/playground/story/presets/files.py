"""Preset files of both platforms."""

from __future__ import annotations

from tavernkit.playground.base.storable import presentable
from tavernkit.playground.story.presets.kinds import AnyPreset
from tavernkit.reading import ImportReport, parse_json
from tavernkit.risuai.files import is_preset_file, read_preset_file, write_preset_file
from tavernkit.sillytavern.presets import read_preset
from tavernkit.values import Json

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


def _read_risuai(file: bytes) -> tuple[AnyPreset, ImportReport, dict[str, Json]]:
    """Written once more, because that leaves the keys of providers out."""
    settings, report = read_preset_file(file)
    return settings, report, presentable(parse_json(write_preset_file(settings, "json"), what="The preset"))
