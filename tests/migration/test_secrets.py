"""Keys and private addresses are blanked before a file is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.errors import ParseError
from tavernkit.migration import FileKind, SourceFile, open_source, without_secrets
from tests.migration.folders import USER, write
from tests.strategies import json_values

KEY = "sk-planted-0123456789abcdef"


def cleaned(document: Any, path: str = "settings.json", kind: FileKind = "settings") -> tuple[Any, tuple[str, ...]]:
    data, names = without_secrets(path, kind, json.dumps(document).encode())
    return json.loads(data), names


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ({"proxies": [{"name": "a"}, {"password": KEY}]}, "proxies[1].password"),
        ({"proxies": [{"url": KEY}]}, "proxies[0].url"),
        ({"selected_proxy": {"password": KEY}}, "selected_proxy.password"),
        *(
            ({"oai_settings": {field: KEY}}, f"oai_settings.{field}")
            for field in (
                *("reverse_proxy", "proxy_password", "custom_url", "custom_include_headers", "custom_include_body"),
                *("custom_exclude_body", "azure_base_url", "azure_deployment_name", "vertexai_express_project_id"),
                *("vertexai_region", "workers_ai_account_id"),
            )
        ),
        ({"api_key_openai": KEY}, "api_key_openai"),
        ({"nai_settings": {"api_key_novel": KEY}}, "nai_settings.api_key_novel"),
        ({"extension_settings": {"apiKey": KEY}}, "extension_settings.apiKey"),
        ({"extension_settings": {"sd": {"auto_auth": "me:word"}}}, "extension_settings.sd.auto_auth"),
        *(
            ({"extension_settings": {"theirs": {"deep": [{field: KEY}]}}}, f"extension_settings.theirs.deep[0].{field}")
            for field in (
                *("apiKey", "api_key", "APIKEY", "api-key", "openaiApiKey", "openaiKey", "key", "accessToken"),
                *("access_token", "authtoken", "token", "password", "clientSecret", "Authorization", "headers"),
            )
        ),
        ({"extensions": {"theirs": {"apiKey": KEY}}}, "extensions.theirs.apiKey"),
    ],
)
def test_v12_secrets_of_settings_are_blanked_and_named(document: dict[str, Any], name: str) -> None:
    result, names = cleaned(document)
    assert names == (name,)
    assert KEY not in json.dumps(result)
    assert "me:word" not in json.dumps(result)


@pytest.mark.parametrize(
    "document",
    [
        {"power_user": {"tokenizer": 99, "token_padding": 64, "custom_stopping_strings": KEY}},
        {"textgenerationwebui_settings": {"banned_tokens": "[1, 2]", "global_banned_tokens": "x"}},
        {
            "oai_settings": {
                "reverse_proxy": "",
                "custom_include_headers": "",
                "vertexai_model": "m",
                "azure_model": "m",
            }
        },
        {"proxies": [{"name": "None", "url": "", "password": ""}]},
        {"extension_settings": {"variables": {"global": {"password": "friend", "secret": "The door."}}}},
        {"extension_settings": {"sd": {"character_prompts": {"Secret": "a fox"}}}},
        {"extension_settings": {"gallery": {"folders": {"password.png": "Shared"}}}},
        {"extension_settings": {"connectionManager": {"profiles": [{"id": "1", "secret-id": "2"}]}}},
        {"extension_settings": {"theirs": {"key": "Enter", "hotkey": "ctrl+k", "start_token": "<s>", "maxTokens": 9}}},
        {"extension_settings": {"regex": [{"findRegex": "password", "replaceString": "token"}]}},
        {"power_user": {"personas": {"secret.png": "Sam"}, "persona_descriptions": {"token.png": {}}}},
    ],
)
def test_v12_what_is_no_secret_stays_the_same_bytes(document: dict[str, Any]) -> None:
    data = json.dumps(document, indent=4).encode()
    assert without_secrets("settings.json", "settings", data) == (data, ())
    assert without_secrets("settings.json", "settings", data)[0] is data


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("settings.json", "settings"),
        ("backups/settings_sam_20240101-000000.json", "derived"),
        ("backups/_migration/2024-01-01/settings.json", "derived"),
        ("settings.json.bak", "kept"),
        ("OpenAI Settings/a.json", "preset"),
        ("instruct/a.json", "preset"),
        ("backups/other/OpenAI Settings/a.json", "derived"),
    ],
)
def test_v12_settings_their_backups_and_presets_are_cleaned(path: str, kind: FileKind) -> None:
    assert cleaned({"proxy_password": KEY, "x": 1}, path, kind) == ({"proxy_password": "", "x": 1}, ("proxy_password",))


@pytest.mark.parametrize("kind", ["chat", "character", "world", "chat_media", "background"])
def test_other_files_are_left_alone(kind: FileKind) -> None:
    data = json.dumps({"proxy_password": "a word in a story"}).encode()
    assert without_secrets("a.json", kind, data)[0] is data


@pytest.mark.parametrize(
    ("path", "kind"),
    [("settings.json", "settings"), ("backups/settings_1.json", "derived"), ("OpenAI Settings/a.json", "preset")],
)
@pytest.mark.parametrize("data", [b"", b'{"proxy_password": "x', b"\xff\xfe{\x00}\x00", b"[" * 5000])
def test_v12_damaged_settings_cannot_be_cleaned_and_are_not_kept(path: str, kind: FileKind, data: bytes) -> None:
    with pytest.raises(ParseError, match="cannot be cleaned"):
        without_secrets(path, kind, data)


def test_damaged_files_that_are_no_settings_are_kept() -> None:
    assert without_secrets("image-metadata.json", "kept", b"{") == (b"{", ())


def test_v12_every_byte_beside_the_secrets_stays() -> None:
    data = (
        b'\xef\xbb\xbf{ "a" :\t1.50,\r\n "reverse\\u005fproxy": "one",\n"reverse_proxy" : "two\\"three",'
        b'\n  "custom_include_headers": ["x", {"y": 1}], "b": "\xff\\ud800", "azure_x": 5 }\n\n'
    )
    assert without_secrets("p.json", "preset", data) == (
        b'\xef\xbb\xbf{ "a" :\t1.50,\r\n "reverse\\u005fproxy": "",\n"reverse_proxy" : "",'
        b'\n  "custom_include_headers": [], "b": "\xff\\ud800", "azure_x": 5 }\n\n',
        ("reverse_proxy", "custom_include_headers"),
    )


@given(
    values=st.dictionaries(st.sampled_from(("a", "proxy_password", "extension_settings", "apiKey")), json_values),
    indent=st.sampled_from((None, 0, 4)),
)
def test_v12_a_key_is_nowhere_afterwards(values: dict[str, Any], indent: int | None) -> None:
    document = {**values, "extension_settings": {"theirs": values, "token": KEY}, "proxy_password": KEY}
    data, _ = without_secrets("settings.json", "settings", json.dumps(document, indent=indent).encode())
    assert KEY.encode() not in data
    json.loads(data)
    assert without_secrets("settings.json", "settings", data) == (data, ())


@pytest.mark.parametrize(
    "path", ["secrets.json", "backups/secrets_migration_1.json", "_storage/1", "cookie-secret.txt"]
)
def test_v12_files_of_secrets_are_named_and_never_read(path: str, tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {**USER, path: KEY.encode()}))
    [file] = [file for file in source.files() if file.path == path]
    assert isinstance(file, SourceFile)
    assert file.kind == "secret"
    with pytest.raises(ParseError, match="never read"):
        source.open(path)
