import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.errors import PresetParseError, TavernKitError
from tavernkit.presets import Preset as BudgetContract
from tavernkit.sillytavern.errors import InvalidContextTemplateError, InvalidInstructError, InvalidPresetError
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    MasterExport,
    PresetPrompt,
    PromptOrder,
    PromptToggle,
    ReasoningTemplate,
    SillyTavernPreset,
    StartReplyWith,
    SystemPrompt,
    TextPreset,
    read_preset,
    write_preset,
)

CHAT: dict[str, Any] = {
    "chat_completion_source": "openai",
    "temperature": 0.8,
    "top_p": 1,
    "openai_max_context": 8192,
    "openai_max_tokens": 512,
    "names_behavior": 2,
    "continue_postfix": "\n",
    "wi_format": "[{0}]",
    "squash_system_messages": True,
    "custom_prompt_post_processing": "merge",
    "prompts": [
        {"identifier": "main", "name": "Main", "role": "system", "content": "Narrate {{char}}.", "system_prompt": True},
        {"identifier": "chatHistory", "name": "History", "system_prompt": True, "marker": True},
        {
            "identifier": "b3f1",
            "name": "Reminder",
            "role": "user",
            "content": "Stay brief.",
            "injection_position": 1,
            "injection_depth": 2,
            "injection_order": 50,
            "injection_trigger": ["normal", "swipe"],
            "forbid_overrides": True,
            "colour": "red",
        },
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [{"identifier": "main", "enabled": True}, {"identifier": "b3f1", "enabled": False}],
        }
    ],
    "extensions": {"regex_scripts": []},
    "from_the_future": {"kept": 1},
}
TEXT: dict[str, Any] = {
    "temp": 1.1,
    "rep_pen": 1.05,
    "top_k": 0,
    "min_p": 0.05,
    "sampler_order": [6, 0, 1],
    "dry_sequence_breakers": '["\\n"]',
    "json_schema": None,
    "genamt": 300,
    "max_length": 4096,
    "xtc_probability": 0.5,
}
INSTRUCT: dict[str, Any] = {
    "name": "ChatML",
    "input_sequence": "<|im_start|>user",
    "output_sequence": "<|im_start|>assistant",
    "output_suffix": "<|im_end|>\n",
    "names_behavior": "always",
    "wrap": False,
}
CONTEXT: dict[str, Any] = {
    "name": "Plain",
    "story_string": "{{description}}",
    "chat_start": "***",
    "story_string_position": 1,
    "story_string_depth": 2,
}
SYSTEM: dict[str, Any] = {"name": "Neutral", "content": "You are {{char}}.", "post_history": "Stay in character."}
REASONING: dict[str, Any] = {"name": "Think", "prefix": "<think>", "suffix": "</think>", "separator": "\n\n"}
MASTER: dict[str, Any] = {
    "instruct": INSTRUCT,
    "context": CONTEXT,
    "sysprompt": SYSTEM,
    "preset": TEXT,
    "reasoning": REASONING,
    "srw": {"value": "Sure:", "show": True},
}

KINDS = [
    pytest.param(CHAT, ChatPreset, "chat_preset", id="chat"),
    pytest.param(TEXT, TextPreset, "text_preset", id="text"),
    pytest.param(INSTRUCT, Instruct, "instruct", id="instruct"),
    pytest.param(CONTEXT, ContextTemplate, "context", id="context"),
    pytest.param(SYSTEM, SystemPrompt, "system_prompt", id="system prompt"),
    pytest.param(REASONING, ReasoningTemplate, "reasoning", id="reasoning"),
    pytest.param(MASTER, MasterExport, "master", id="master"),
    pytest.param({"temperature": 1, "top_p": 1}, ChatPreset, "chat_preset", id="bare samplers"),
]


@pytest.mark.parametrize(("source", "kind", "format"), KINDS)
def test_the_kind_is_seen_from_the_content(source: dict[str, Any], kind: type[SillyTavernPreset], format: str) -> None:
    for given_as in (source, json.dumps(source), json.dumps(source).encode()):
        preset, report = read_preset(given_as)
        assert type(preset) is kind
        assert report.format == format


@pytest.mark.parametrize(("source", "kind", "format"), KINDS)
def test_a_preset_is_written_back_as_it_came(
    source: dict[str, Any], kind: type[SillyTavernPreset], format: str
) -> None:
    assert write_preset(read_preset(source)[0]) == source


def test_a_chat_preset() -> None:
    preset, report = read_preset(CHAT)
    assert isinstance(preset, ChatPreset)
    assert (preset.temperature, preset.names_behavior, preset.wi_format) == (0.8, 2, "[{0}]")
    assert (preset.continue_postfix, preset.custom_prompt_post_processing) == ("\n", "merge")
    assert [prompt.identifier for prompt in preset.prompts] == ["main", "chatHistory", "b3f1"]
    reminder = preset.prompts[2]
    assert (reminder.role, reminder.injection_depth, reminder.injection_order) == ("user", 2, 50)
    assert reminder.injection_trigger == ("normal", "swipe")
    assert reminder.unknown == {"colour": "red"}
    assert [(toggle.identifier, toggle.enabled) for toggle in preset.prompt_order[0].order] == [
        ("main", True),
        ("b3f1", False),
    ]
    assert preset.unknown == {"from_the_future": {"kept": 1}}
    assert [(note.path, note.outcome) for note in report.notes] == [
        ("from_the_future", "exact"),
        ("prompts[2].colour", "exact"),
    ]


def test_the_budget_of_a_preset() -> None:
    chat: BudgetContract = ChatPreset(openai_max_context=8192, openai_max_tokens=512)
    text: BudgetContract = TextPreset(max_length=4096, genamt=300)
    assert (chat.context_window_tokens, chat.reserved_response_tokens, chat.max_prompt_tokens) == (8192, 512, 7680)
    assert (text.context_window_tokens, text.reserved_response_tokens, text.max_prompt_tokens) == (4096, 300, 3796)


def test_a_master_export_holds_its_parts() -> None:
    preset, _ = read_preset(MASTER)
    assert isinstance(preset, MasterExport)
    assert preset.instruct is not None
    assert preset.instruct.names_behavior == "always"
    assert preset.context is not None
    assert preset.context.story_string_depth == 2
    assert preset.sysprompt is not None
    assert preset.preset is not None
    assert preset.preset.sampler_order == (6, 0, 1)
    assert preset.reasoning is not None
    assert preset.srw is not None
    assert (preset.srw.value, preset.srw.show) == ("Sure:", True)


def test_a_part_of_a_master_export_may_be_missing_or_broken() -> None:
    source = {"instruct": INSTRUCT, "context": 5, "srw": {"value": 7}}
    preset, report = read_preset(source)
    assert isinstance(preset, MasterExport)
    assert (preset.context, preset.sysprompt) == (None, None)
    assert [(note.path, note.outcome) for note in report.notes] == [("context", "ignored"), ("srw.value", "converted")]
    assert write_preset(preset) == source


def test_older_chat_presets() -> None:
    source = {
        "temp_openai": 0.3,
        "freq_pen_openai": 0.7,
        "claude_use_sysprompt": True,
        "names_in_completion": True,
        "image_inlining": False,
        "video_inlining": True,
        "main_prompt": "Narrate.",
        "jailbreak_prompt": "Go on.",
        "prompt_order": [{"identifier": "main", "enabled": False}],
    }
    preset, report = read_preset(source)
    assert isinstance(preset, ChatPreset)
    assert (preset.temperature, preset.frequency_penalty, preset.use_sysprompt) == (0.3, 0.7, True)
    assert (preset.names_behavior, preset.media_inlining) == (1, True)
    assert [(prompt.identifier, prompt.content) for prompt in preset.prompts] == [
        ("main", "Narrate."),
        ("jailbreak", "Go on."),
    ]
    assert preset.prompt_order[0].order[0].enabled is False
    assert report.notes == ()
    assert write_preset(preset) == source


def test_todays_name_wins_over_the_old_one() -> None:
    preset, _ = read_preset({"temperature": 0.5, "temp_openai": 0.9, "prompts": []})
    assert isinstance(preset, ChatPreset)
    assert preset.temperature == 0.5


@pytest.mark.parametrize(
    ("flags", "behavior"),
    [
        ({"names": True}, "always"),
        ({"names": False, "names_force_groups": True}, "force"),
        ({"names": False, "names_force_groups": False}, "none"),
        ({}, "force"),
    ],
)
def test_older_instruct_templates(flags: dict[str, bool], behavior: str) -> None:
    source = {"input_sequence": "USER:", "output_sequence": "BOT:", "separator_sequence": "</s>", **flags}
    preset, _ = read_preset(source)
    assert isinstance(preset, Instruct)
    assert (preset.output_suffix, preset.names_behavior) == ("</s>", behavior)
    assert write_preset(preset) == source


def test_sequence_breakers_in_a_list_are_kept_as_text() -> None:
    source = {"temp": 1, "rep_pen": 1, "dry_sequence_breakers": ["\n", ":"]}
    preset, _ = read_preset(source)
    assert isinstance(preset, TextPreset)
    assert preset.dry_sequence_breakers == '["\\n", ":"]'
    assert write_preset(preset) == source


def test_a_value_of_the_wrong_type_gets_the_default_and_a_note() -> None:
    source = {"prompts": [{"identifier": "main", "injection_depth": []}, 5], "top_p": "much", "names_behavior": 9}
    preset, report = read_preset(source)
    assert isinstance(preset, ChatPreset)
    assert (preset.top_p, preset.names_behavior, preset.prompts[0].injection_depth) == (1.0, 0, 4)
    assert sorted(note.path for note in report.ignored) == [
        "names_behavior",
        "prompts[0].injection_depth",
        "prompts[1]",
        "top_p",
    ]
    assert write_preset(preset) == source


def test_only_what_was_changed_is_written_anew() -> None:
    preset, _ = read_preset({"temp_openai": "0.3", "top_p": 1, "prompts": [{"identifier": "main", "x": 1}], "y": 2})
    assert isinstance(preset, ChatPreset)
    changed = preset.with_(temperature=0.9, prompts=(preset.prompts[0].with_(content="New"),))
    assert write_preset(changed) == {
        "temperature": 0.9,
        "top_p": 1,
        "prompts": [{"identifier": "main", "content": "New", "x": 1}],
        "y": 2,
    }


def test_a_preset_made_in_code_is_written_in_full() -> None:
    preset = ChatPreset(
        prompts=(PresetPrompt(identifier="main", content="Hi"),),
        prompt_order=(PromptOrder(order=(PromptToggle(identifier="main"),)),),
    )
    written = write_preset(preset)
    assert written["temperature"] == 1.0
    assert written["prompts"][0]["content"] == "Hi"
    assert written["prompt_order"] == [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]
    again, report = read_preset(written)
    assert isinstance(again, ChatPreset)
    assert again.with_(prompts=(), prompt_order=(), spelling=None) == preset.with_(prompts=(), prompt_order=())
    assert report.notes == ()


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("{", PresetParseError),
        (b"\x00\x00", PresetParseError),
        ("[]", InvalidPresetError),
        ("{}", InvalidPresetError),
        ('{"name": "Mira", "description": "A card, no preset."}', InvalidPresetError),
        ('{"entries": {}}', InvalidPresetError),
        ('{"input_sequence": 5, "output_sequence": ""}', InvalidInstructError),
        ('{"story_string": ["a"]}', InvalidContextTemplateError),
        ('{"name": "n", "content": null}', InvalidPresetError),
        ('{"name": "n", "prefix": {}, "suffix": ""}', InvalidPresetError),
    ],
)
def test_what_is_no_preset_is_refused(source: str | bytes, error: type[TavernKitError]) -> None:
    with pytest.raises(error, match=r"\w.+\."):
        read_preset(source)


ALL_KINDS: tuple[type[SillyTavernPreset], ...] = (
    *(ChatPreset, TextPreset, Instruct, ContextTemplate, SystemPrompt, ReasoningTemplate, MasterExport),
)
NESTED: tuple[type[Any], ...] = (PresetPrompt, PromptOrder, PromptToggle, StartReplyWith)
FIELD_NAMES = sorted(
    {name for kind in (*ALL_KINDS, *NESTED) for name in (*kind.__struct_fields__, *kind.OLD_NAMES)} - {"unknown"}
)


def test_a_prompt_with_an_empty_role_is_for_the_system_and_is_written_back_as_it_was() -> None:
    document = {"prompts": [{"identifier": "main", "role": "", "content": "Hm.", "injection_position": 1}]}
    preset, _ = read_preset(document)
    assert isinstance(preset, ChatPreset)
    assert preset.prompts[0].role == "system"
    assert write_preset(preset) == document


NOVELAI: dict[str, Any] = {
    "order": [5, 0, 1, 3],
    "temperature": 1.16,
    "max_length": 300,
    "min_length": 1,
    "top_k": 175,
    "typical_p": 0.96,
    "tail_free_sampling": 0.994,
    "repetition_penalty": 1.68,
    "repetition_penalty_range": 2240,
    "repetition_penalty_slope": 1.5,
    "repetition_penalty_frequency": 0.01,
    "repetition_penalty_presence": 0.005,
    "prefix": "vanilla",
    "phrase_rep_pen": "medium",
    "max_context": 7800,
}


def test_a_novelai_preset_is_a_text_preset() -> None:
    preset, report = read_preset(NOVELAI)
    assert isinstance(preset, TextPreset)
    assert (preset.temp, preset.rep_pen, preset.rep_pen_range, preset.rep_pen_slope) == (1.16, 1.68, 2240, 1.5)
    assert (preset.tfs, preset.freq_pen, preset.presence_pen) == (0.994, 0.01, 0.005)
    assert (preset.context_window_tokens, preset.reserved_response_tokens) == (7800, 300)
    assert report.is_exact
    assert write_preset(preset) == NOVELAI


@pytest.mark.parametrize(
    "document",
    [
        {"temperature": 1.2, "repetition_penalty": 1.5, "cfg_scale": 1},
        {"temperature": 1.2, "repetition_penalty": 1.5, "phrase_rep_pen": "off"},
        {"temperature": 1.2, "top_p": 0.9, "max_length": 150, "min_length": 1, "order": [1, 0]},
    ],
)
def test_a_short_novelai_preset_is_a_text_preset_too(document: dict[str, Any]) -> None:
    preset, _ = read_preset(document)
    assert isinstance(preset, TextPreset)
    assert preset.temp == 1.2


def test_the_parameters_of_a_preset_that_novelai_itself_has_written_are_read() -> None:
    preset, report = read_preset({"presetVersion": 3, "name": "Reef", "model": "kayra-v1", "parameters": NOVELAI})
    assert isinstance(preset, TextPreset)
    assert (preset.name, preset.temp, preset.reserved_response_tokens) == ("Reef", 1.16, 300)
    assert [note.path for note in report.converted] == ["parameters"]
    assert write_preset(preset) == {"name": "Reef", **NOVELAI}


@pytest.mark.parametrize("changes", [{"genamt": 500}, {"max_length": 4000}, {"temp": 0.5, "genamt": 10}])
def test_a_changed_novelai_preset_is_read_again_as_it_was_left(changes: dict[str, Any]) -> None:
    preset = read_preset(NOVELAI)[0].with_(**changes)
    again, _ = read_preset(write_preset(preset))
    assert again.with_(spelling=None, unknown={}) == preset.with_(spelling=None, unknown={})


def test_a_novelai_preset_of_sillytavern_keeps_its_lengths_as_other_text_presets_do() -> None:
    preset, _ = read_preset({**NOVELAI, "genamt": 150, "max_length": 6000})
    assert isinstance(preset, TextPreset)
    assert (preset.context_window_tokens, preset.reserved_response_tokens) == (6000, 150)


def test_a_koboldai_preset_is_a_text_preset_whose_typical_is_typical_p() -> None:
    document = {"temp": 0.51, "rep_pen": 1.2, "typical": 0.9, "tfs": 0.99, "mirostat": 2, "sampler_order": [6, 5, 0]}
    preset, _ = read_preset(document)
    assert isinstance(preset, TextPreset)
    assert (preset.typical_p, preset.mirostat_mode) == (0.9, 2)
    assert write_preset(preset) == document


@pytest.mark.parametrize("kind", [*ALL_KINDS, *NESTED])
def test_every_field_is_documented(kind: type[Any]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "presets.md").read_text()
    names = [*kind.__struct_fields__, *kind.OLD_NAMES, kind.__name__]
    assert [name for name in names if f"`{name}`" not in page] == []


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELD_NAMES) | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=12,
)
files = st.builds(
    lambda seed, more: {**more, **seed},
    st.sampled_from(
        [
            *({"prompts": []}, {"temp": 1, "tfs": 1}, {"input_sequence": ""}, {"story_string": ""}, {"instruct": {}}),
            *({"name": "", "content": ""}, {"prefix": "", "suffix": ""}, {"prompt_order": []}, {}),
        ]
    ),
    st.dictionaries(st.sampled_from(FIELD_NAMES) | st.text(max_size=4), values, max_size=12),
)


@given(files)
def test_whatever_a_file_holds_it_is_read_and_written_back_or_refused(source: dict[str, Any]) -> None:
    try:
        preset, report = read_preset(json.dumps(source))
    except (InvalidPresetError, InvalidInstructError, InvalidContextTemplateError):
        return
    assert write_preset(preset) == source
    again, same_report = read_preset(write_preset(preset))
    assert again == preset
    assert same_report == report


@given(st.binary(max_size=100))
def test_bytes_are_read_or_refused(source: bytes) -> None:
    with pytest.raises((PresetParseError, InvalidPresetError)):
        read_preset(source)
