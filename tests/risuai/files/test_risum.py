"""`.risum` files: what they hold is read, written again as it was, and refused with a reason where it is damaged."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.risuai.files.builders import LORE, SCRIPT, TRIGGER, module, risum
from tests.strategies import json_objects, json_values

from tavernkit.characters import CardLimits, load
from tavernkit.errors import ParseError, UnsupportedVersionError
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.files import read_risum, write_risum
from tavernkit.risuai.module import Module, read_module
from tavernkit.risuai.stored import AssetName

# formats.json, case risum_export
WRITTEN_BY_RISUAI = base64.b64decode(
    "bwBSAgAA5m5hYSAtQOKyTAUgl2HmbmFhYWEg8tMtBSCXYSClDuLTTCAAbmFhYWEg4gVIPHkOLA8OQPIgl2EgSwXTYXmyTAVIIABuYWFhYSAO4iCX"
    "YSAtQOIMwSAAbmFhYWEg8tMtBUgs0zwFIJdhIA8O4tNMIABuYWFhYSBMQHkFHUBAzSCXYfRuYWFhYWFh5m5hYWFhYWFhYSDNBWwgl2EgDw7iBSAA"
    "bmFhYWFhYWFhIDxALS0F8g8gl2EgpSAAbmFhYWFhYWFhIDxA8g8F8g8gl2EgpQ7iBUhhQB0FbF0gAG5hYWFhYWFhYSAtQOIFIJdhIPJAeS3TTCAA"
    "bmFhYWFhYWFhIA7ySAV5D0B54gV5IJdhwdIAbmFhYWFhYWFhINNMtdNsSLQ8Dw56BSCXYY7TTEgFAG5hYWFhYWFhYSBIBTxA8uLNBWwgl2EgIABu"
    "YWFhYWFhYWEgSAVMBTwPDnoFIJdhjtNMSAVuYWFhYWFhe25hYWFhzwBuYWFhYSB5BSoFpyCXYfRuYWFhYWFh5m5hYWFhYWFhYSA8QC0tBfIPIJdh"
    "ICAAbmFhYWFhYWFhIA7yIJdhINMgAG5hYWFhYWFhYSBAsg8gl2EgHSAAbmFhYWFhYWFhIA9sLAUgl2EgBeIOD+IOSCxM02wgAG5hYWFhYWFhYSDT"
    "HUwFWEzTKiCXYY7TTEgFbmFhYWFhYXtuYWFhYc8AbmFhYWEgD3kOKioFeSCXYfTPAG5hYWFhINNISAUPSCCXYfTPbmFhewBuYWEgD2wsBSCXYSB5"
    "Dkiy20DiskwFIG57AA=="
)
DAMAGED = [
    (b"", ParseError, "does not start as"),
    (b"PK\3\4", ParseError, "does not start as"),
    (b"o", UnsupportedVersionError, "file version none"),
    (b"o\x01rest", UnsupportedVersionError, "file version 1"),
    (b"o\0\1", ParseError, "cut off at byte 3, before its description"),
    (b"o\0\xff\xff\xff\xff{", ParseError, "4,294,967,295 bytes, 1 are left"),
    (b"o\0\2\0\0\0ab\0", ParseError, "not valid JSON"),
    (risum({}, type="preset"), ParseError, "its type is not risuModule"),
    (risum([]), ParseError, "there is a list"),
    (risum(module(), end=b""), ParseError, "after 0 assets"),
    (risum(module(), end=b"\7"), ParseError, "after 0 assets"),
    (risum(module(), b"x"), ParseError, "names 0 assets and contains 1"),
    (risum(module(assets=[["a", "", ""]]), b"xy", end=b"")[:-1], ParseError, "its asset 1 should have 2 bytes"),
]

modules = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(max_size=5),
        "description": json_values,
        "id": st.text(max_size=5),
        "namespace": json_values,
        "lorebook": st.lists(st.just(LORE) | json_objects, max_size=2),
        "regex": st.lists(st.just(SCRIPT) | json_objects, max_size=2) | json_values,
        "trigger": st.lists(st.just(TRIGGER) | json_objects, max_size=2),
        "lowLevelAccess": json_values,
        "customModuleToggle": st.text(max_size=5),
        "mcp": json_values,
        "backgroundEmbedding": json_values,
    },
)


def loose(source: dict[str, Any]) -> LooseObject:
    return LooseObject(source, ReportBuilder())


def as_javascript(value: Any) -> Any:
    """The value with the one kind of number that JavaScript has."""
    match value:
        case dict():
            return {key: as_javascript(item) for key, item in value.items()}
        case list():
            return [as_javascript(item) for item in value]
        case bool():
            return value
        case int():
            return float(value)
        case _:
            return value


def test_a_file_of_risuai_is_written_again_byte_for_byte():
    file = read_risum(WRITTEN_BY_RISUAI)
    assert (file.module.name, file.module.namespace) == ("Tidal", "tidal")
    assert file.module.lore[0].content == "Tides obey."
    assert file.module.scripts[0].type == "editdisplay"
    assert file.report.is_exact
    assert write_risum(file.module) == WRITTEN_BY_RISUAI


@given(source=modules, assets=st.lists(st.binary(max_size=9), max_size=3))
def test_reading_and_writing_a_module_is_the_identity(source, assets):
    named = [[f"a{number}", "", "png"] for number in range(len(assets))]
    written = write_risum(read_module(loose({**source, "assets": named})), tuple(assets))
    file = read_risum(written)
    known = {"name": "", "description": "", "id": ""}
    assert as_javascript(file.module.written) == as_javascript({**known, **source, "assets": named})
    assert file.assets == tuple(assets)
    assert write_risum(file.module, file.assets) == written


def test_a_changed_field_is_written_and_the_unknown_stays():
    module_read = read_module(loose(module(mcp={"url": "x"}, hideIcon=True)))
    changed = module_read.with_(
        name="Ebb", lore=tuple(entry.with_(content="Gone.") for entry in module_read.lore), scripts=(), namespace="e"
    )
    again = read_risum(write_risum(changed)).module
    assert again.written == {
        **module(mcp={"url": "x"}, hideIcon=True, name="Ebb", regex=[], namespace="e", assets=[]),
        "lorebook": [{**LORE, "content": "Gone."}],
    }


def test_a_module_made_by_hand_has_what_risuai_needs():
    made = Module(name="M", assets=(AssetName(name="lamp", path="p/lamp", extension="png"),))
    file = read_risum(write_risum(made, (b"glow",)))
    assert file.module.written == {"name": "M", "description": "", "id": "", "assets": [["lamp", "", "png"]]}
    assert file.assets == (b"glow",)


def test_an_asset_without_bytes_is_written_empty():
    made = Module(name="M", assets=(AssetName(name="lamp"), AssetName(name="wick", extension="gif")))
    assert read_risum(write_risum(made, (b"glow",))).assets == (b"glow", b"")
    with pytest.raises(ValueError, match="names 2 assets"):
        write_risum(made, (b"", b"", b""))


def test_names_without_bytes_are_noted():
    file = read_risum(risum(module(assets=[["lamp", "", "png"]])))
    assert [note.path for note in file.report.ignored] == ["assets"]


@pytest.mark.parametrize(("data", "error", "sentence"), DAMAGED, ids=[case[2] for case in DAMAGED])
def test_damage_is_named(data, error, sentence):
    with pytest.raises(error, match=sentence):
        read_risum(data)


def test_limits_are_kept():
    names = [["a", "", ""]] * 3
    with pytest.raises(ParseError, match="more than 2 assets"):
        read_risum(risum(module(assets=names), b"", b"", b""), limits=CardLimits(assets=2))
    with pytest.raises(ParseError, match="at most 10 are read"):
        read_risum(risum(module()), limits=CardLimits(file_bytes=10))
    with pytest.raises(ParseError, match="at most 10 are read"):
        read_risum(risum(module()), limits=CardLimits(json_bytes=10))


def test_a_module_is_not_taken_for_a_card():
    with pytest.raises(ParseError, match=r"looks like a RisuAI module \(\.risum\)"):
        load(WRITTEN_BY_RISUAI)
