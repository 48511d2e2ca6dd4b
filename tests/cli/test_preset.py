"""`tavernkit preset`: what a preset says, what is wrong with it, and the same in other files."""

import json
from pathlib import Path
from typing import Any

import pytest

from tavernkit.risuai import PromptCard, RisuSettings
from tavernkit.risuai.files import read_preset_file, write_preset_file
from tavernkit.sillytavern.presets import ChatPreset, TextPreset, read_preset
from tests.cli.running import Result, run

PROMPTS = [
    {"identifier": "main", "system_prompt": True, "content": "You are {{char}}."},
    {"identifier": "aside", "name": "Aside", "role": "user", "content": "Psst.", "injection_position": 1},
    {"identifier": "later", "name": "Later", "content": "Go on.", "injection_trigger": ["continue"]},
    {"identifier": "spare", "name": "Spare", "content": "Unused."},
]
CHAT: dict[str, Any] = {
    "temp_openai": 0.7,
    "openai_max_context": 8000,
    "openai_max_tokens": 500,
    "new_chat_prompt": "[Start]",
    "prompts": PROMPTS,
    "prompt_order": [
        {"character_id": 100000, "order": [{"identifier": "spare", "enabled": True}]},
        {
            "character_id": 100001,
            "order": [
                {"identifier": "main", "enabled": True},
                {"identifier": "later", "enabled": True},
                {"identifier": "charDescription", "enabled": True},
                {"identifier": "scenario", "enabled": False},
                {"identifier": "chatHistory", "enabled": True},
                {"identifier": "aside", "enabled": True},
            ],
        },
    ],
    "extensions": {"regex_scripts": [{"scriptName": "a", "findRegex": "/a/g"}]},
    "proxy_password": "hunter2",
}
MASTER: dict[str, Any] = {
    "instruct": {"name": "Marks", "input_sequence": "[U]", "output_sequence": "[B]", "separator_sequence": "|"},
    "context": {"name": "Short", "story_string": "{{description}}"},
    "preset": {"temp": 0.8, "rep_pen": 1.1, "typical": 0.9, "genamt": 100, "max_length": 2000},
}
RISUAI = RisuSettings(
    main_prompt="Unused.",
    max_context=9000,
    max_response=600,
    jailbreak_on=True,
    template=(
        PromptCard(type="plain", kind="main", text="You are {{char}}."),
        PromptCard(type="description", inner_format="<{{slot}}>"),
        PromptCard(type="persona"),
        PromptCard(type="plain", name="Aside", text="Psst.", role="bot"),
        PromptCard(type="memory"),
        PromptCard(type="lorebook"),
        PromptCard(type="chat"),
        PromptCard(type="jailbreak", text="Stay."),
        PromptCard(type="chat"),
    ),
)


def command(name: str, document: Any, *arguments: str) -> Result:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return run("preset", name, "-", *arguments, stdin=data)


class TestShowing:
    def test_prompts_stand_in_the_order_that_counts_with_on_and_off(self) -> None:
        shown = command("show", CHAT, "--json").document
        assert [(each["identifier"], each["enabled"]) for each in shown["prompts"]] == [
            ("main", True), ("later", True), ("charDescription", True), ("scenario", False), ("chatHistory", True),
            ("aside", True), ("spare", None),
        ]  # fmt: skip
        assert shown["prompts"][1]["flags"] == ["for continue"]
        assert shown["prompts"][5]["place"] == "in chat, depth 4, order 100"

    def test_samplers_sizes_and_texts_are_shown_under_todays_names(self) -> None:
        shown = command("show", CHAT, "--json").document
        assert shown["kind"] == "a chat-completion preset"
        assert shown["settings"] == {"temperature": 0.7}
        assert (shown["window"], shown["reply"], shown["scripts"]) == (8000, 500, 1)
        assert [text["field"] for text in shown["texts"]] == ["new_chat_prompt"]

    def test_the_text_says_the_same_and_keeps_secrets(self) -> None:
        text = command("show", CHAT).text
        assert "context size: 8,000 tokens, response length: 500" in text
        assert "5 of 7 prompts on" in text
        assert "hunter2" not in text
        assert "hunter2" not in json.dumps(command("show", CHAT, "--json").document)

    def test_a_master_export_shows_all_its_parts(self) -> None:
        shown = command("show", MASTER, "--json").document
        assert shown["settings"]["preset.typical_p"] == 0.9
        texts = {text["field"]: text["text"] for text in shown["texts"]}
        assert texts["instruct.output_suffix"] == "|"
        assert texts["context.story_string"] == "{{description}}"

    @pytest.mark.parametrize("part", ["instruct", "context", "preset"])
    def test_a_part_alone(self, part: str) -> None:
        assert "(no name)" in command("show", MASTER["preset"]).text
        assert command("show", MASTER[part], "--json").document["kind"] in (
            "an instruct template", "a context template", "a text-completion preset",
        )  # fmt: skip

    @pytest.mark.parametrize("format", ["risup", "json"])
    def test_a_preset_of_risuai(self, format: Any) -> None:
        shown = command("show", write_preset_file(RISUAI, format), "--json").document
        assert (shown["kind"], shown["window"], shown["reply"]) == ("a preset of RisuAI", 9000, 600)
        assert [each["identifier"] for each in shown["prompts"]][:3] == ["plain", "description", "persona"]
        assert all(each["enabled"] for each in shown["prompts"])

    def test_what_is_no_preset_is_an_error(self) -> None:
        result = command("show", {"spec": "chara_card_v3"})
        assert result.code == 2
        assert result.stderr.startswith("tavernkit: standard input: This is not a SillyTavern preset")


class TestChecking:
    def test_a_preset_without_a_problem_is_ok(self) -> None:
        prompts = PROMPTS[:-1]
        result = command("validate", {**CHAT, "prompts": prompts})
        assert (result.code, result.text) == (0, "standard input: ok\n")

    def test_problems_have_their_places(self) -> None:
        broken = [
            {"identifier": "main", "role": "narrator", "content": "x"},
            {"identifier": "main", "content": "y"},
            {"identifier": "odd", "system_prompt": True, "content": "z"},
            {"identifier": "deep", "injection_position": 1, "injection_depth": -2, "injection_trigger": ["nomral"]},
            {"content": "nobody"},
        ]
        order = [{"identifier": name} for name in ("main", "odd", "deep", "gone")]
        document = {
            "temperature": "hot",
            "openai_max_context": 100,
            "openai_max_tokens": 200,
            "wi_format": "[Lore]",
            "prompts": broken,
            "prompt_order": [{"character_id": 100001, "order": order}],
            "extensions": {"regex_scripts": [{"findRegex": "/(/"}]},
        }
        result = command("validate", document, "--json")
        assert result.code == 1
        [checked] = result.document["files"]
        assert (checked["ok"], checked["status"], checked["format"]) == (False, "broken", "chat_preset")
        assert {note["path"] for note in checked["notes"]} == {
            "temperature",
            "openai_max_tokens",
            "wi_format",
            "prompts[0].role",
            "prompts[1].identifier",
            "prompts[2].system_prompt",
            "prompts[3].injection_depth",
            "prompts[3].injection_trigger",
            "prompts[4].identifier",
            "prompt_order[0].order[3].identifier",
            "prompt_order",
            "extensions.regex_scripts[0].findRegex",
        }
        strict = command("validate", document, "--strict")
        assert strict.code == 1
        assert "ignored prompts[0].role: 'narrator' is unknown; use one of system, user, assistant" in strict.text

    @pytest.mark.parametrize(
        ("document", "path"),
        [
            ({"prompts": [], "prompt_order": [{"character_id": 100000, "order": []}]}, "prompt_order"),
            ({"prompts": [{"identifier": "own", "content": "x"}]}, "prompts[0]"),
            ({"prompts": [{"identifier": "main", "injection_position": 7}]}, "prompts[0].injection_position"),
            ({"prompts": [{"identifier": "main", "content": "{{nope}} {{nope}}"}]}, "prompts[0].content"),
            ({"prompts": [], "scenario_format": "{{scenario"}, "scenario_format"),
            ({"prompts": [], "custom_prompt_post_processing": "squash"}, "custom_prompt_post_processing"),
            ({"name": "Short", "content": "{{nope}}"}, "content"),
            ({"temp": 1, "rep_pen": 1, "genamt": 300, "max_length": 200}, "genamt"),
            ({"input_sequence": "a", "output_sequence": "b", "activation_regex": "/(/i"}, "activation_regex"),
            ({"story_string": "{{#if a}}"}, "story_string"),
            ({"instruct": {}, "context": {"story_string": "{{/if}}"}}, "context.story_string"),
            ({"promptTemplate": [{"type": "chat"}, {"type": "riddle"}]}, "promptTemplate[1].type"),
            ({"promptTemplate": [{"type": "chat"}, {"type": "plain", "role": "x"}]}, "promptTemplate[1].role"),
            ({"promptTemplate": []}, "promptTemplate"),
            ({"formatingOrder": ["main"]}, "formatingOrder"),
            ({"mainPrompt": "x", "maxContext": 100, "maxResponse": 100}, "maxResponse"),
        ],
    )
    def test_problems_of_other_kinds(self, document: dict[str, Any], path: str) -> None:
        [checked] = command("validate", document, "--json").document["files"]
        assert [note["path"] for note in checked["notes"]] == [path]
        assert command("validate", document, "--strict").code == 1

    @pytest.mark.parametrize("document", [b"{", {"a": 1}], ids=str)
    def test_a_broken_preset_fails(self, document: Any) -> None:
        result = command("validate", document)
        assert result.code == 1
        assert result.text.startswith("standard input: broken: ")

    def test_a_missing_file_is_unreadable_and_the_others_are_checked(self, tmp_path: Path) -> None:
        good = tmp_path / "good.json"
        good.write_text(json.dumps(MASTER))
        result = run("preset", "validate", tmp_path / "missing.json", good)
        assert result.code == 2
        assert "unreadable" in result.text
        assert f"{good}: ok" in result.text


class TestConverting:
    def test_an_older_preset_gets_todays_names_and_keeps_the_rest(self) -> None:
        written = command("convert", {**CHAT, "new_field": 1}, "--to", "chat").document
        today = {name: value for name, value in CHAT.items() if name != "temp_openai"}
        assert written == {**today, "temperature": 0.7, "new_field": 1}

    def test_a_preset_of_koboldai_or_novelai_becomes_one_for_text_completion(self) -> None:
        kobold = {"temp": 0.5, "typical": 0.9, "rep_pen": 1.1}
        assert command("convert", kobold, "--to", "text").document == {"temp": 0.5, "typical_p": 0.9, "rep_pen": 1.1}
        novelai = {"temperature": 0.5, "max_length": 150, "tail_free_sampling": 0.9, "max_context": 6000}
        assert command("convert", novelai, "--to", "text").document == {
            "temp": 0.5, "tfs": 0.9, "genamt": 150, "max_length": 6000,
        }  # fmt: skip

    def test_a_master_export_is_taken_apart_and_put_together(self) -> None:
        result = command("convert", MASTER, "--to", "instruct")
        assert result.document == {"name": "Marks", "input_sequence": "[U]", "output_sequence": "[B]"} | {
            "output_suffix": "|"
        }
        assert "context: left out: the file contains one part" in result.stderr
        whole = command("convert", result.document, "--to", "master").document
        assert whole == {"instruct": result.document}

    @pytest.mark.parametrize("to", ["risup", "risupreset", "risuai-json"])
    def test_a_chat_preset_becomes_a_template_of_risuai(self, to: str) -> None:
        settings, report = read_preset_file(command("convert", CHAT, "--to", to).stdout)
        assert report.is_exact
        assert settings.template is not None
        assert [(card.type, card.text) for card in settings.template] == [
            ("plain", "You are {{char}}."),
            ("plain", "Go on."),
            ("description", ""),
            ("chat", ""),
            ("plain", "Psst."),
        ]
        assert (settings.max_context, settings.max_response) == (8000, 500)

    def test_a_preset_of_risuai_becomes_a_chat_preset(self) -> None:
        result = command("convert", write_preset_file(RISUAI), "--to", "chat")
        preset, report = read_preset(result.stdout)
        assert isinstance(preset, ChatPreset)
        assert report.is_exact
        assert [toggle.identifier for toggle in preset.prompt_order[0].order] == [
            "main", "charDescription", "charPersonality", "scenario", "personaDescription", "card-3",
            "worldInfoBefore", "worldInfoAfter", "dialogueExamples", "chatHistory", "jailbreak",
        ]  # fmt: skip
        assert [prompt.role for prompt in preset.prompts if prompt.content == "Psst."] == ["assistant"]
        assert (preset.openai_max_context, preset.openai_max_tokens) == (9000, 600)
        lost = [line.strip().partition(":")[0] for line in result.stderr.splitlines()[1:]]
        assert lost == ["promptTemplate[1].innerFormat", "promptTemplate[4]", "promptTemplate[8]"]
        assert command("validate", result.stdout, "--strict").code == 0

    def test_an_older_preset_of_risuai_has_its_parts_in_their_order(self) -> None:
        older = RisuSettings(main_prompt="Main.", jailbreak="Jail.", global_note="Note.")
        preset, _ = read_preset(command("convert", write_preset_file(older), "--to", "chat").stdout)
        assert isinstance(preset, ChatPreset)
        texts = {prompt.identifier: prompt.content for prompt in preset.prompts if prompt.content}
        assert list(texts.values()) == ["Main.", "Jail.", "Note."]
        assert [toggle.enabled for toggle in preset.prompt_order[0].order if toggle.identifier == "jailbreak"] == [
            False
        ]

    def test_presets_of_risuai_change_their_file(self) -> None:
        packed = command("convert", write_preset_file(RISUAI, "json"), "--to", "risup").stdout
        assert read_preset_file(packed)[0].template == read_preset_file(write_preset_file(RISUAI))[0].template

    def test_there_is_not_always_a_way(self) -> None:
        result = command("convert", CHAT, "--to", "text")
        assert result.code == 2
        assert "cannot be converted to text. Possible formats: chat, risup, risupreset, risuai-json" in result.stderr

    def test_nothing_is_overwritten(self, tmp_path: Path) -> None:
        out = tmp_path / "out.json"
        out.write_text("mine")
        assert command("convert", MASTER["preset"], "--to", "text", "-o", str(out)).code == 2
        assert out.read_text() == "mine"
        result = command("convert", MASTER["preset"], "--to", "text", "-o", str(out), "--force", "--json")
        assert result.document["bytes"] == len(out.read_bytes())
        assert isinstance(read_preset(out.read_bytes())[0], TextPreset)
