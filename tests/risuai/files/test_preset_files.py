"""Presets of RisuAI: three kinds of file, one set of settings."""

from __future__ import annotations

import gzip
import json
import sys
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.risuai.files.builders import SCRIPT, risup, risupreset, sealed
from tests.strategies import json_values

from tavernkit.errors import PresetParseError, UnsupportedVersionError
from tavernkit.risuai.files import decode_rpack, encode_rpack, is_preset_file, read_preset_file, write_preset_file
from tavernkit.risuai.settings import PromptCard, RisuSettings, TemplateSettings

PRESET = {
    "name": "Harbour",
    "mainPrompt": "Write.",
    "maxContext": 8000,
    "temperature": 80,
    "formatingOrder": ["main", "chats"],
    "promptTemplate": [{"type": "plain", "type2": "main", "text": "Go.", "role": "system", "odd": [1]}],
    "promptSettings": {
        "assistantPrefill": "Well",
        "postEndInnerFormat": "",
        "sendName": True,
        "maxThoughtTagDepth": -1,
    },
    "regex": [SCRIPT],
}
FORMATS = ("risup", "risupreset", "json")
UNREADABLE = [
    (b"", PresetParseError, "cut off|not a preset"),
    (b"{}", PresetParseError, "not a preset of RisuAI"),
    (b"[]", PresetParseError, "a list"),
    (b"{", PresetParseError, "not valid JSON"),
    (risup(PRESET)[:-20], PresetParseError, "cut off"),
    (gzip.compress(b"\xc0", mtime=0), PresetParseError, "not a preset of RisuAI"),
    (risupreset(b"short"), PresetParseError, "too short"),
    (risupreset(b"x" * 40, type="module"), PresetParseError, "something else"),
    (risupreset(sealed(b"\xc0")), PresetParseError, "should be an object"),
    (risupreset(sealed(b"\x81\xa1a")), PresetParseError, "truncated"),
    (risupreset(sealed(b"\x81\xa1\xff\1")), PresetParseError, "cannot be read"),
    (risupreset(sealed(b"\x81\xa1a" + b"\x91" * 300 + b"\1")), PresetParseError, "200 levels"),
    (risupreset(sealed(b"\x91" * 100_000 + b"\1")), PresetParseError, "too deeply"),
    (risupreset(sealed(b"{}", key=b"secret")), UnsupportedVersionError, "encrypted with a key of its own"),
    (risupreset(b"", presetVersion=7), UnsupportedVersionError, "file version 7"),
]


class TestReading:
    @pytest.mark.parametrize(
        ("data", "format"),
        [
            (risup(PRESET), "risup"),
            (risupreset(sealed(msgspec.msgpack.encode(PRESET))), "risupreset"),
            (json.dumps(PRESET).encode(), "json"),
        ],
        ids=FORMATS,
    )
    def test_every_kind_of_file_gives_the_same_settings(self, data, format):
        settings, report = read_preset_file(data)
        assert (settings.main_prompt, settings.max_context, settings.order) == ("Write.", 8000, ("main", "chats"))
        assert settings.template is not None
        assert settings.template[0].text == "Go."
        assert settings.prompt == TemplateSettings(assistant_prefill="Well", send_name=True)
        assert settings.scripts[0].pattern == "a"
        assert settings.written == PRESET
        assert report.format == format
        assert report.is_exact
        assert is_preset_file(data)

    @pytest.mark.parametrize(
        "data",
        [
            *(b"", b"[]", b"{", b'{"temperature": 1, "top_p": 1}'),
            b'{"prompts": [], "prompt_order": [{"order": []}], "jailbreak": ""}',
        ],
    )
    def test_other_files_are_told_apart(self, data):
        assert not is_preset_file(data)

    def test_the_oldest_files_name_the_preset_otherwise(self):
        inner = sealed(msgspec.msgpack.encode(PRESET))
        envelope = {"presetVersion": 0, "type": "preset", "pres": inner}
        settings, _ = read_preset_file(gzip.compress(msgspec.msgpack.encode(envelope)))
        assert settings.written == PRESET

    @pytest.mark.parametrize("window", [zlib.MAX_WBITS, -zlib.MAX_WBITS], ids=["zlib", "bare"])
    def test_other_ways_of_packing_are_read(self, window):
        plain = gzip.decompress(decode_rpack(risup(PRESET)))
        packer = zlib.compressobj(wbits=window)
        packed = packer.compress(plain) + packer.flush()
        assert read_preset_file(packed)[0].written == PRESET
        assert read_preset_file(encode_rpack(packed))[0].written == PRESET

    def test_a_chat_preset_of_sillytavern_becomes_a_template(self):
        source = {
            "prompts": [{"identifier": "main", "content": "Write.", "role": "system"}, {"identifier": "chatHistory"}],
            "prompt_order": [
                {"order": [{"identifier": "main", "enabled": True}, {"identifier": "chatHistory", "enabled": True}]}
            ],
        }
        settings, report = read_preset_file(json.dumps(source).encode())
        assert [card.type for card in settings.template or ()] == ["plain", "chat"]
        assert [note.path for note in report.converted] == ["prompts"]
        again, _ = read_preset_file(write_preset_file(settings))
        assert [(card.type, card.kind, card.text) for card in again.template or ()] == [
            ("plain", "main", "Write."),
            ("chat", "normal", ""),
        ]

    def test_values_that_are_none_in_javascript_are_left_out(self):
        # An object with `a` undefined, `b` a list with undefined in it, `mainPrompt` a text, and `c` some bytes.
        packed = b"\x84\xa1a\xd4\0\0\xa1b\x92\xd4\0\0\1\xaamainPrompt\xa1x\xa1c\xc4\1\0"
        settings, report = read_preset_file(risupreset(sealed(packed)))
        assert settings.written == {"b": [None, 1], "mainPrompt": "x"}
        assert [note.path for note in report.ignored] == ["c"]

    @pytest.mark.parametrize(("data", "error", "sentence"), UNREADABLE, ids=[case[2] for case in UNREADABLE])
    def test_what_cannot_be_read_is_refused_with_a_reason(self, data, error, sentence):
        with pytest.raises(error, match=sentence):
            read_preset_file(data)

    def test_a_preset_that_unpacks_without_end_is_refused(self):
        with pytest.raises(PresetParseError, match="unpacks to more than"):
            read_preset_file(gzip.compress(bytes(50_000_000)))
        with pytest.raises(PresetParseError, match="at most"):
            read_preset_file(bytes(5_000_000))

    def test_without_cryptography_the_error_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
        with pytest.raises(UnsupportedVersionError, match=r"Install tavernkit\[playground\]"):
            read_preset_file(risup(PRESET))
        assert read_preset_file(json.dumps(PRESET).encode())[0].main_prompt == "Write."


class TestWriting:
    @pytest.mark.parametrize("format", FORMATS)
    def test_unchanged_settings_are_written_as_they_were(self, format):
        settings, _ = read_preset_file(risup(PRESET))
        data = write_preset_file(settings, format)
        assert data == write_preset_file(settings, format)
        again, report = read_preset_file(data)
        assert (again, report.format) == (settings, format)

    @pytest.mark.parametrize("format", FORMATS)
    @given(
        preset=st.fixed_dictionaries(
            {"mainPrompt": st.text(max_size=5)},
            optional={
                "promptTemplate": st.lists(st.dictionaries(st.sampled_from(("type", "text", "rangeEnd")), json_values))
                | json_values,
                "promptSettings": json_values,
                "x": st.lists(st.integers(-(2**60), 2**60)),
            },
        )
    )
    def test_reading_and_writing_is_the_identity(self, format, preset):
        settings, _ = read_preset_file(json.dumps(preset).encode())
        data = write_preset_file(settings, format)
        again, _ = read_preset_file(data)
        assert write_preset_file(again, format) == data
        assert again.main_prompt == settings.main_prompt

    def test_changes_are_written_and_the_rest_stays(self):
        settings, _ = read_preset_file(risup(PRESET))
        changed = settings.with_(
            main_prompt="Sing.",
            template=(*(settings.template or ()), PromptCard(type="chat", range_start=-6)),
            prompt=settings.prompt.with_(send_name=False),
        )
        written = read_preset_file(write_preset_file(changed))[0].written
        assert (written["mainPrompt"], written["temperature"]) == ("Sing.", 80)
        assert written["promptTemplate"] == [
            *PRESET["promptTemplate"],
            {"type": "chat", "rangeStart": -6, "rangeEnd": "end"},
        ]
        assert written["promptSettings"]["sendName"] is False
        assert written["promptSettings"]["maxThoughtTagDepth"] == -1

    @pytest.mark.parametrize("name", ["regex", "presetRegex"])
    def test_scripts_are_written_under_the_name_they_had(self, name):
        settings, _ = read_preset_file(json.dumps({"mainPrompt": "", name: [SCRIPT]}).encode())
        assert [script.pattern for script in settings.scripts] == ["a"]
        changed = settings.with_(scripts=(settings.scripts[0].with_(replacement="c"),))
        written = json.loads(write_preset_file(changed, "json"))
        assert written == {"mainPrompt": "", name: [{**SCRIPT, "out": "c"}]}

    def test_settings_without_a_template_have_none_in_the_file(self):
        settings, _ = read_preset_file(risup(PRESET))
        assert "promptTemplate" not in read_preset_file(write_preset_file(settings.with_(template=None)))[0].written

    def test_keys_of_providers_do_not_leave_the_house(self):
        settings, _ = read_preset_file(json.dumps({**PRESET, "openAIKey": "sk", "proxyKey": "pk"}).encode())
        written = json.loads(write_preset_file(settings, "json"))
        assert (written["openAIKey"], written["proxyKey"]) == ("", "")

    def test_what_the_file_cannot_express_is_written_as_javascript_would(self):
        source = {"mainPrompt": "half \ud83d, whole \ud83c\udf0a", "seed": 2**70, "odd\udc00": [-(2**80)]}
        settings, _ = read_preset_file(json.dumps(source).encode())
        written = read_preset_file(write_preset_file(settings))[0].written
        assert written == {"mainPrompt": "half \ufffd, whole 🌊", "seed": 2.0**70, "odd\ufffd": [-(2.0**80)]}

    def test_settings_made_by_hand_can_be_written(self):
        settings = RisuSettings(main_prompt="Write.", template=(PromptCard(type="plain", text="x"),), max_context=1)
        again, _ = read_preset_file(write_preset_file(settings))
        assert again.with_(written={}, template=None) == settings.with_(template=None)
        assert again.template is not None
        assert again.template[0].text == "x"
