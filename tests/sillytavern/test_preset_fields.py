"""No setting without a reader: every field of a preset is read, is the connection's, or is warned about."""

from pathlib import Path

import pytest

import tavernkit.sillytavern
from tavernkit import User, example, sillytavern
from tavernkit.sillytavern.chat_completion.request import UNSUPPORTED, chosen_model
from tavernkit.sillytavern.presets import ChatPreset, ContextTemplate, Instruct, TextPreset
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.text_completion.request import sampler_fields

ROOM = Path(tavernkit.sillytavern.__file__).parent
READERS = "".join(path.read_text() for path in sorted(ROOM.rglob("*.py")) if path.parent != ROOM / "presets")
OWN = {"unknown", "spelling"}
CONNECTION = frozenset(
    {
        "name",
        "max_context_unlocked",
        "tool_call_recurse_limit",
        "vertexai_auth_mode",
        "vertexai_region",
        "vertexai_express_project_id",
        "openrouter_group_models",
        "openrouter_sort_models",
        "chutes_sort_models",
        "siliconflow_endpoint",
        "minimax_endpoint",
        "electronhub_group_models",
        "electronhub_sort_models",
        "nanogpt_provider",
        "nanogpt_payg_override",
        "pollinations_endpoint",
        "zai_endpoint",
        "workers_ai_account_id",
        "azure_base_url",
        "azure_deployment_name",
        "azure_api_version",
        "custom_url",
        "custom_include_headers",
        "group_models",
        "sort_models",
        "reverse_proxy",
        "proxy_password",
        "show_external_models",
        "bypass_status_check",
        "extensions",
    }
)
"""Where the request goes and how lists of models look: for whoever sends it, and nothing to the prompt."""


def fields(kind: type) -> list[str]:
    return [name for name in kind.__struct_fields__ if name not in OWN]


@pytest.mark.parametrize("field", fields(ChatPreset))
def test_every_field_of_a_chat_preset_has_a_reader_or_is_declared(field: str) -> None:
    declared = field in CONNECTION or field in UNSUPPORTED
    budget = field == "openai_max_context"  # the core reads it as the preset's context_window_tokens
    read = f".{field}" in READERS or f'"{field}"' in READERS or field.endswith("_model") or budget
    assert declared or read
    assert not (field in CONNECTION and field in UNSUPPORTED)


@pytest.mark.parametrize("field", [name for name in fields(ChatPreset) if name.endswith("_model")])
def test_the_model_is_that_of_the_chosen_source(field: str) -> None:
    source = {"google_model": "makersuite"}.get(field, field.removesuffix("_model"))
    assert chosen_model(ChatPreset(chat_completion_source=source).with_(**{field: "the-model"})) == "the-model"


def test_every_sampler_of_a_text_preset_is_sent_when_it_is_changed() -> None:
    changed = {name: _other(getattr(TextPreset(), name)) for name in sampler_fields() if name not in ("json_schema",)}
    plan = sillytavern.build(character=example.character(), user=User(name="Robin"), preset=TextPreset(**changed)).plan
    sent = list(plan.llm_options.values())
    for name, value in changed.items():
        assert (list(value) if isinstance(value, tuple) else value) in sent, name


def _other(value: object) -> object:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 41
        case str():
            return value + " changed"
        case tuple():
            return ("changed",)
        case _:
            return "changed"


@pytest.mark.parametrize("kind", [Instruct, ContextTemplate, UserSettings])
def test_every_template_field_has_a_reader(kind: type) -> None:
    not_for_prompts = {"name", "preset", "bind_to_context", "allow_jailbreak", "include_newline", "system_prompt"}
    doubled = {"always_force_name2", "trim_sentences", "single_line"}  # SillyTavern reads them from the user's settings
    wanted = [name for name in fields(kind) if name not in not_for_prompts | doubled]
    assert [name for name in wanted if f".{name}" not in READERS] == []


def test_settings_that_have_no_effect_are_warned_about() -> None:
    preset = ChatPreset(chat_completion_source="openrouter", openrouter_middleout="off")
    plan = sillytavern.build(character=example.character(), user=User(name="Robin"), preset=preset).plan
    (warning,) = [warning for warning in plan.warnings if warning.code == "preset_field_unsupported"]
    assert "openrouter_middleout" in warning.message


def test_a_source_that_is_not_in_use_is_not_warned_about() -> None:
    preset = ChatPreset(chat_completion_source="openai", openrouter_middleout="off")
    plan = sillytavern.build(character=example.character(), user=User(name="Robin"), preset=preset).plan
    assert [warning.code for warning in plan.warnings] == []
