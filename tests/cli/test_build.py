"""`tavernkit build`: files of SillyTavern in, the request it would send out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tavernkit import dialects
from tests.characters import card_files
from tests.cli.running import Result, run
from tests.strategies import json_values

Write = Callable[..., Path]

PROMPTS = ("main", "charDescription", "charPersonality", "scenario", "reminder", "chatHistory")
CHAT_PRESET: dict[str, Any] = {
    "openai_max_context": 4000,
    "openai_max_tokens": 500,
    "temperature": 0.7,
    "prompts": [
        {"identifier": "main", "system_prompt": True, "content": "You are {{char}}."},
        {
            "identifier": "reminder",
            "role": "user",
            "content": "Be brief.",
            "injection_position": 1,
            "injection_depth": 0,
        },
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [{"identifier": name} for name in PROMPTS],
        }
    ],
}
TEXT_PRESET = {"temp": 0.8, "rep_pen": 1.1, "genamt": 100, "max_length": 2000}
INSTRUCT = {"name": "Marks", "input_sequence": "[U]", "output_sequence": "[B]", "system_sequence": "[S]"}
CONTEXT = {"name": "Short", "story_string": "About {{char}}: {{description}}\n", "chat_start": "---"}
NETS = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Oskar", "description": "{{char}} mends nets."},
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, document: Any) -> Path:
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return write_file


@pytest.fixture
def card_json(write: Write) -> Path:
    return write("ysolde.json", card_files.v3(personality="", scenario="", mes_example=""))


@pytest.fixture
def preset(write: Write) -> Path:
    return write("preset.json", CHAT_PRESET)


@pytest.fixture
def long_chat(write: Write) -> Path:
    lines: list[Any] = [{"chat_metadata": {}, "user_name": "Sam", "character_name": "Ysolde"}]
    lines += [
        {
            "name": "Sam" if turn % 2 else "Ysolde",
            "is_user": bool(turn % 2),
            "mes": f"Turn {turn}. " + "Tick, tock. " * 20,
        }
        for turn in range(40)
    ]
    return write("long.jsonl", "\n".join(map(json.dumps, lines)))


def words(*arguments: str | Path) -> list[str | Path]:
    return list(arguments)


def contents(result: Result) -> list[str]:
    return [message["content"] for message in result.document["payload"]]


class TestDefaults:
    def test_the_example_story_needs_no_files(self) -> None:
        result = run("build", "--message", "Who is Mr Abel?")
        assert result.code == 0
        assert result.text.startswith("[system]\n")
        assert result.text.endswith("[user]\nWho is Mr Abel?\n\n")
        assert result.stderr == ""

    def test_a_card_alone_begins_a_chat_with_its_greeting(self, card_png: Path) -> None:
        payload = run("build", "--card", card_png, "--json").document["payload"]
        assert payload[-1] == {"role": "assistant", "content": "Tick."}
        assert any("Mends clocks." in message["content"] for message in payload)

    def test_a_card_from_standard_input(self, card_png: Path) -> None:
        assert run("build", "--card", "-", "--json", stdin=card_png.read_bytes()).code == 0

    def test_building_twice_gives_the_same(self, card_png: Path, preset: Path) -> None:
        first, second = (run("build", "--card", card_png, "--preset", preset, "--json").stdout for _ in range(2))
        assert first == second


class TestPresets:
    def test_a_chat_preset_orders_the_prompts(self, card_json: Path, preset: Path) -> None:
        result = run("build", "--card", card_json, "--preset", preset, "--message", "Late again?", "--json")
        assert contents(result) == [
            "You are Ysolde.",
            "Mends clocks.",
            "[A new chat begins here.]",
            "Tick.",
            "Late again?",
            "Be brief.",
        ]
        assert result.document["options"]["temperature"] == 0.7
        assert result.document["options"]["max_tokens"] == 500

    def test_a_preset_brings_its_dialect_and_model(self, card_json: Path, write: Write) -> None:
        claude = write("claude.json", CHAT_PRESET | {"chat_completion_source": "claude", "claude_model": "claude-x"})
        document = run("build", "--card", card_json, "--preset", claude, "--json").document
        assert document["dialect"] == "anthropic"
        assert set(document["payload"]) == {"system", "messages"}
        assert document["options"]["model"] == "claude-x"

    @pytest.mark.parametrize("dialect", dialects.names())
    def test_every_dialect_can_be_asked_for_and_read(self, card_json: Path, preset: Path, dialect: str) -> None:
        arguments = words(
            "build", "--card", card_json, "--preset", preset, "--message", "Late again?", "--dialect", dialect
        )
        assert run(*arguments, "--json").document["payload"]
        text = run(*arguments).text
        assert "Mends clocks." in text
        assert "Late again?" in text

    def test_a_text_preset_makes_one_text(self, card_json: Path, write: Write) -> None:
        text = write("text.json", TEXT_PRESET)
        document = run(
            "build", "--card", card_json, "--preset", text, "--user", "Sam", "--message", "Hm?", "--json"
        ).document
        assert document["dialect"] == "text"
        assert document["payload"] == "Mends clocks.\n***\nYsolde: Tick.\nSam: Hm?\nYsolde:"
        assert document["options"]["stop"] == ["\nSam:"]
        assert document["options"]["max_tokens"] == 100

    def test_templates_by_name(self, card_json: Path, write: Write) -> None:
        templates = words("--instruct", write("i.json", INSTRUCT), "--context-template", write("c.json", CONTEXT))
        text = run("build", "--card", card_json, *templates, "--message", "Hm?", "--json").document["payload"]
        assert text.startswith("About Ysolde: Mends clocks.\n---\n[B]\nTick.\n[U]\nHm?\n[B]")

    def test_templates_in_a_master_export_or_one_by_one_are_the_same(self, card_json: Path, write: Write) -> None:
        master = write("master.json", {"instruct": INSTRUCT, "context": CONTEXT, "preset": TEXT_PRESET})
        alone = [write("i.json", INSTRUCT), write("c.json", CONTEXT), write("t.json", TEXT_PRESET)]
        presets = [argument for file in alone for argument in ("--preset", file)]
        together = run("build", "--card", card_json, "--preset", master, "--json")
        assert together.document == run("build", "--card", card_json, *presets, "--json").document

    def test_a_named_template_wins_over_the_master_export(self, card_json: Path, write: Write) -> None:
        master = write("master.json", {"instruct": INSTRUCT, "context": CONTEXT})
        other = write("other.json", INSTRUCT | {"output_sequence": "[O]"})
        text = run("build", "--card", card_json, "--preset", master, "--instruct", other, "--json").document["payload"]
        assert "[O]" in text
        assert "[B]" not in text

    def test_the_window_and_the_reply_can_be_set(self, card_json: Path, preset: Path) -> None:
        arguments = words("--context", "3000", "--reserve", "250")
        document = run("build", "--card", card_json, "--preset", preset, *arguments, "--explain", "--json").document
        assert document["options"]["max_tokens"] == 250
        assert document["report"]["budget"] == 3000 - 250 - 3

    @pytest.mark.parametrize(
        ("presets", "said"),
        [
            ([CHAT_PRESET, TEXT_PRESET], "0.json is for chat completion and"),
            ([CHAT_PRESET, INSTRUCT], "an instruct template, for text completion"),
            ([INSTRUCT, {"instruct": INSTRUCT}], "both contain an instruct template"),
        ],
    )
    def test_presets_that_do_not_go_together(self, write: Write, presets: list[Any], said: str) -> None:
        files = [write(f"{number}.json", document) for number, document in enumerate(presets)]
        result = run("build", *(argument for file in files for argument in ("--preset", file)))
        assert result.code == 2
        assert said in result.stderr

    def test_a_template_of_another_kind_is_named(self, write: Write) -> None:
        result = run("build", "--instruct", write("c.json", CONTEXT))
        assert result.code == 2
        assert "c.json is not an instruct template: it contains a context template." in result.stderr

    def test_a_text_completion_has_no_other_dialect(self, write: Write) -> None:
        result = run("build", "--preset", write("t.json", TEXT_PRESET), "--dialect", "anthropic")
        assert result.code == 2
        assert "Remove --dialect" in result.stderr

    def test_a_way_to_merge_messages_that_nobody_knows(self, write: Write) -> None:
        preset = write("p.json", CHAT_PRESET | {"custom_prompt_post_processing": "zigzag"})
        assert "warning: preset.custom_prompt_post_processing: 'zigzag'" in run("build", "--preset", preset).stderr
        assert run("build", "--preset", preset, "--strict").code == 1

    def test_a_story_string_that_cannot_be_read_names_its_file(self, write: Write) -> None:
        result = run("build", "--context-template", write("c.json", {"story_string": "{{#each x}}"}))
        assert result.code == 2
        assert "c.json: The story string cannot be read in line 1: it ends while a block is open." in result.stderr

    def test_fields_of_the_wrong_type_are_told_beside_the_messages(self, write: Write) -> None:
        broken = write("p.json", CHAT_PRESET | {"openai_max_tokens": "many"})
        result = run("build", "--preset", broken)
        assert result.code == 0
        assert f"tavernkit: warning: {broken}: openai_max_tokens: expected a number, found text" in result.stderr
        notes = run("build", "--preset", broken, "--json").document["notes"]
        assert [(note["path"], note["outcome"]) for note in notes] == [("openai_max_tokens", "ignored")]


class TestHistory:
    def test_a_chat_of_sillytavern(self, card_json: Path, preset: Path, write: Write) -> None:
        chat = write(
            "chat.jsonl",
            "\n".join(
                map(
                    json.dumps,
                    [
                        {"chat_metadata": {"variables": {"mood": "dark"}}, "user_name": "Ines"},
                        {"name": "Ysolde", "is_user": False, "mes": "Yes, {{user}}?"},
                        {"name": "Ines", "is_user": True, "mes": "Hidden.", "is_system": True},
                        {"name": "Ines", "is_user": True, "mes": "It is {{getvar::mood}}."},
                    ],
                )
            ),
        )
        result = run("build", "--card", card_json, "--preset", preset, "--history", chat, "--json")
        assert contents(result)[-3:] == ["Yes, Ines?", "It is dark.", "Be brief."]

    def test_the_chats_own_note_and_scenario_count(self, card_json: Path, write: Write) -> None:
        header = {
            "chat_metadata": {"note_prompt": "Rain.", "note_depth": 0, "scenario": "At sea."},
            "user_name": "Ines",
        }
        said = {"name": "Ines", "is_user": True, "mes": "Hm?"}
        chat = write("chat.jsonl", f"{json.dumps(header)}\n{json.dumps(said)}")
        arguments = words("build", "--card", card_json, "--history", chat)
        told = contents(run(*arguments, "--json"))
        assert "At sea." in told
        assert told[-2:] == ["Hm?", "Rain."]
        assert contents(run(*arguments, "--note", "Snow.", "--note-depth", "1", "--json"))[-2:] == ["Snow.", "Hm?"]

    def test_a_chat_of_another_application(self, card_json: Path, preset: Path, write: Write) -> None:
        chat = write("ooba.json", {"data_visible": [["Late?", "Never."]]})
        result = run("build", "--card", card_json, "--preset", preset, "--history", chat, "--json")
        assert contents(result)[-3:] == ["Late?", "Never.", "Be brief."]

    @pytest.mark.parametrize("wrap", [lambda messages: messages, lambda messages: {"messages": messages}])
    def test_a_list_of_messages(self, card_json: Path, preset: Path, write: Write, wrap: Any) -> None:
        call = {"id": "1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
        messages = [
            {"role": "user", "content": "What time is it?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "Noon.", "tool_call_id": "1"},
        ]
        chat = write("history.json", wrap(messages))
        payload = run("build", "--card", card_json, "--preset", preset, "--history", chat, "--json").document["payload"]
        assert [message["role"] for message in payload[-4:]] == ["user", "assistant", "tool", "user"]
        assert payload[-3]["tool_calls"] == [call]
        assert "clock" in run("build", "--card", card_json, "--history", chat).text

    @pytest.mark.parametrize(
        ("document", "said"),
        [
            ("", "The file is empty."),
            ("[", "not valid JSON"),
            ([1], "Message 1 of the history is not an object"),
            ([{"role": "user"}, {"content": "x"}], "Message 2 of the history cannot be read"),
            ([{"role": "user", "tool_calls": "x"}], "tool_calls must be a list of objects with a function"),
            ([{"role": "tool", "tool_call_id": 7}], "tool_call_id must be text"),
            ({"a": 1}, "This is no chat that can be read here."),
        ],
    )
    def test_a_history_that_cannot_be_read_says_where(self, write: Write, document: Any, said: str) -> None:
        path = write("history.json", document)
        result = run("build", "--history", path)
        assert result.code == 2
        assert result.stderr.startswith(f"tavernkit: {path}: ")
        assert said in result.stderr

    def test_a_file_with_several_chats_says_how_to_choose(self, write: Write) -> None:
        chat = {"msgs": [{"src": {"is_human": True}, "text": "Hm?"}]}
        result = run("build", "--history", write("cai.json", {"histories": {"histories": [chat, chat]}}))
        assert result.code == 2
        assert "contains 2 chats" in result.stderr
        assert "tavernkit chat convert" in result.stderr


class TestStory:
    def test_the_user_and_a_persona_as_text_or_file(self, card_json: Path, write: Write) -> None:
        arguments = words("build", "--card", card_json, "--user", "Sam", "--json")
        text = contents(run(*arguments, "--persona", "{{user}} is late."))
        assert "Sam is late." in text
        assert contents(run(*arguments, "--persona", str(write("persona.txt", "{{user}} is late.\n")))) == text

    def test_a_persona_too_long_for_a_file_name_is_a_text(self, card_json: Path) -> None:
        persona = "late " * 200
        assert persona.strip() in "".join(contents(run("build", "--card", card_json, "--persona", persona, "--json")))

    def test_lorebooks_beside_the_cards_own(self, card_json: Path, write: Write) -> None:
        books = [
            write(f"{name}.json", {"entries": {"0": {"uid": 0, "key": [name], "content": f"The {name} gate."}}})
            for name in ("north", "south")
        ]
        lore = [argument for book in books for argument in ("--lore", book)]
        told = "".join(contents(run("build", "--card", card_json, *lore, "--message", "North or south?", "--json")))
        assert "The north gate." in told
        assert "The south gate." in told

    def test_a_book_belongs_to_the_card_that_is_linked_to_it(self, write: Write) -> None:
        entries = [{"uid": 0, "constant": True, "content": f"{name}.", "order": 5} for name in ("Ours", "Theirs")]
        ours, theirs = (write(f"{entry['content']}json", {"entries": {"0": entry}}) for entry in entries)
        lore = words("--lore", theirs, "--lore", ours, "--json")
        linked = write("linked.json", card_files.v3(extensions={"world": "Ours"}, character_book=None))
        free = write("free.json", card_files.v3(character_book=None))
        assert "Theirs.\nOurs." in contents(run("build", "--card", linked, *lore))
        assert "Ours.\nTheirs." in contents(run("build", "--card", free, *lore))

    def test_regex_scripts_from_files_card_and_preset(self, write: Write) -> None:
        def script(find: str, replace: str) -> dict[str, Any]:
            return {
                "scriptName": find,
                "findRegex": find,
                "replaceString": replace,
                "placement": [1],
                "promptOnly": True,
            }

        card = write("card.json", card_files.v3(extensions={"regex_scripts": [script("c", "d")]}))
        preset = write("preset.json", CHAT_PRESET | {"extensions": {"regex_scripts": [script("b", "c")]}})
        own = write("own.json", script("a", "b"))
        arguments = words("--card", card, "--preset", preset, "--regex", own)
        assert "d!" in contents(run("build", *arguments, "--message", "a!", "--json"))

    def test_a_regex_script_that_never_ends_is_a_warning(self, write: Write) -> None:
        slow = write("slow.json", {"scriptName": "slow", "findRegex": "/(a+)+$/", "placement": [1], "promptOnly": True})
        result = run("build", "--regex", slow, "--message", "a" * 40 + "!")
        assert result.code == 0
        assert "tavernkit: warning: The regex script 'slow' was not applied." in result.stderr

    def test_the_authors_note_has_its_place_and_role(self, card_json: Path, preset: Path) -> None:
        note = ["--note", "Rain.", "--note-position", "chat", "--note-depth", "1", "--note-role", "assistant"]
        arguments = words("build", "--card", card_json, "--preset", preset, *note, "--message", "Hm?", "--json")
        assert run(*arguments).document["payload"][-3] == {"role": "assistant", "content": "Rain."}
        assert "Rain." not in contents(run(*arguments, "--note-interval", "2"))
        assert contents(run(*arguments, "--note-position", "before"))[0] == "Rain."

    def test_settings_bring_the_user_the_notes_and_the_preset(self, write: Write) -> None:
        card = write("ysolde.json", card_files.v3())
        settings = write(
            "settings.json",
            {
                "username": "Ines",
                "main_api": "openai",
                "oai_settings": CHAT_PRESET | {"temp_openai": 0.5},
                "power_user": {
                    "persona_description": "{{user}} is late.",
                    "persona_description_position": 4,
                    "persona_description_depth": 0,
                    "custom_stopping_strings": '["THE END"]',
                },
                "extension_settings": {
                    "note": {"chara": [{"name": "ysolde", "prompt": "Rain.", "useChara": True, "position": 0}]},
                    "regex": [
                        {
                            "scriptName": "s",
                            "findRegex": "Hm",
                            "replaceString": "Oh",
                            "placement": [1],
                            "promptOnly": True,
                        }
                    ],
                    "variables": {"global": {"hour": "noon"}},
                },
            },
        )
        result = run(
            "build", "--card", card, "--settings", settings, "--message", "Hm, {{getglobalvar::hour}}.", "--json"
        )
        told = "\n".join(contents(result))
        assert all(text in told for text in ("You are Ysolde.", "Ines is late.", "Rain.", "Oh, noon."))
        assert result.document["options"]["stop"] == ["THE END"]

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({}, "Fog."),
            ({"experimental_macro_engine": True}, "Fog."),
            ({"experimental_macro_engine": False}, "{{if 1}}Fog.{{/if}}"),
        ],
    )
    def test_settings_choose_the_macro_engine(self, write: Write, fields: dict[str, Any], said: str) -> None:
        settings = write("settings.json", {"power_user": {"trim_sentences": False} | fields})
        preset = write("preset.json", {"prompts": [{"identifier": "nsfw", "content": "{{if 1}}Fog.{{/if}}"}]})
        built = run("build", "--settings", settings, "--preset", preset, "--json").document
        assert said in [message["content"] for message in built["payload"]]

    def test_settings_that_are_set_to_text_completion(self, card_json: Path, write: Write) -> None:
        settings = write(
            "settings.json",
            {
                "main_api": "textgenerationwebui",
                "amount_gen": 50,
                "max_context": 900,
                "textgenerationwebui_settings": {"temp": 0.3},
                "power_user": {"instruct": INSTRUCT | {"enabled": True}, "context": CONTEXT},
            },
        )
        document = run("build", "--card", card_json, "--settings", settings, "--json").document
        assert document["payload"].startswith("About Ysolde: Mends clocks.\n---\n[B]\nTick.")
        assert document["options"]["max_tokens"] == 50
        assert document["options"]["truncation_length"] == 900

    @pytest.mark.parametrize(
        ("api", "fields"),
        [
            ("novel", {"nai_settings": {"temperature": 0.3, "typical_p": 0.9, "repetition_penalty": 1.5}}),
            ("kobold", {"kai_settings": {"temp": 0.3, "typical": 0.9, "rep_pen": 1.5}}),
            ("koboldhorde", {"kai_settings": {"temp": 0.3, "typical": 0.9, "rep_pen": 1.5}}),
        ],
    )
    def test_settings_that_are_set_to_novelai_or_koboldai(
        self, card_json: Path, write: Write, api: str, fields: dict[str, Any]
    ) -> None:
        common = {"main_api": api, "amount_gen": 50, "max_context": 900, "oai_settings": CHAT_PRESET, "power_user": {}}
        document = run(
            "build", "--card", card_json, "--settings", write("settings.json", common | fields), "--json"
        ).document
        assert isinstance(document["payload"], str)
        assert document["options"]["max_tokens"] == 50
        assert (document["options"]["temperature"], document["options"]["typical_p"]) == (0.3, 0.9)

    def test_a_text_preset_without_a_length_of_the_reply_asks_for_none(self, write: Write) -> None:
        preset = write("preset.json", {"temp": 0.3, "rep_pen": 1.5, "typical": 0.9})
        options = run("build", "--preset", preset, "--json").document["options"]
        assert options["truncation_length"] == 8192
        assert "max_tokens" not in options

    def test_a_template_beside_settings_for_text_completion_keeps_their_budget(
        self, card_json: Path, write: Write
    ) -> None:
        settings = write("settings.json", {"main_api": "kobold", "amount_gen": 50, "power_user": {"instruct": {}}})
        arguments = words("--card", card_json, "--settings", settings, "--instruct", write("i.json", INSTRUCT))
        assert run("build", *arguments, "--json").document["options"]["max_tokens"] == 50

    def test_settings_with_an_unknown_main_api_are_read_as_chat_completion(self, card_json: Path, write: Write) -> None:
        settings = write("s.json", {"main_api": "telepathy", "oai_settings": CHAT_PRESET, "power_user": {}})
        result = run("build", "--card", card_json, "--settings", settings, "--json")
        assert contents(result)[0] == "You are Ysolde."

    def test_a_prompt_with_an_empty_role_is_sent_by_the_system(self, card_json: Path, write: Write) -> None:
        prompts = [{**prompt, "role": ""} for prompt in CHAT_PRESET["prompts"]]
        preset = write("p.json", {**CHAT_PRESET, "prompts": prompts})
        payload = run("build", "--card", card_json, "--preset", preset, "--json").document["payload"]
        assert {message["role"] for message in payload if message["content"] in ("You are Ysolde.", "Be brief.")} == {
            "system"
        }

    def test_the_power_user_object_alone(self, card_json: Path, write: Write) -> None:
        settings = write("power.json", {"custom_stopping_strings": '["THE END"]'})
        assert run("build", "--card", card_json, "--settings", settings, "--json").document["options"]["stop"] == [
            "THE END"
        ]

    def test_something_else_in_place_of_settings(self, write: Write) -> None:
        path = write("s.json", {"a": 1})
        result = run("build", "--settings", path)
        assert result.code == 2
        assert result.stderr.startswith(f"tavernkit: {path}: This is not a settings file of SillyTavern")


class TestGenerationTypes:
    @pytest.mark.parametrize("kind", ["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"])
    def test_each_type_builds(self, card_json: Path, long_chat: Path, write: Write, kind: str) -> None:
        arguments = words("build", "--card", card_json, "--history", long_chat, "--type", kind)
        assert run(*arguments, "--json").code == 0
        assert run(*arguments, "--preset", write("t.json", TEXT_PRESET), "--json").code == 0

    def test_a_swipe_leaves_out_the_last_reply(self, card_json: Path) -> None:
        assert "Tick." not in contents(run("build", "--card", card_json, "--type", "swipe", "--json"))

    def test_a_quiet_prompt_comes_last(self, card_json: Path) -> None:
        quiet = ["--type", "quiet", "--quiet-prompt", "Sum it up, {{char}}."]
        assert contents(run("build", "--card", card_json, *quiet, "--json"))[-1] == "Sum it up, Ysolde."

    def test_a_quiet_prompt_needs_its_type(self) -> None:
        result = run("build", "--quiet-prompt", "Sum it up.")
        assert result.code == 2
        assert "--type quiet" in result.stderr


class TestGroups:
    def test_several_cards_are_a_group(self, card_json: Path, preset: Path, write: Write) -> None:
        cards = words("--card", card_json, "--card", write("oskar.json", NETS))
        result = run("build", *cards, "--preset", preset, "--speaker", "Oskar", "--json")
        assert contents(result) == [
            "You are Oskar.",
            "Oskar mends nets.",
            "[A new chat of several characters begins here: Ysolde, Oskar.]",
            "Ysolde: Tick.",
            "Be brief.",
            "[Reply as Oskar and as nobody else.]",
        ]

    def test_the_first_card_speaks_unless_somebody_is_named(self, card_json: Path, write: Write) -> None:
        cards = words("--card", card_json, "--card", write("oskar.json", NETS))
        assert contents(run("build", *cards, "--json"))[-1] == "[Reply as Ysolde and as nobody else.]"

    def test_a_group_file_says_how_cards_are_joined(self, card_json: Path, write: Write) -> None:
        cards = words("--card", card_json, "--card", write("oskar.json", NETS))
        group = write("group.json", {"members": ["ysolde.png", "oskar.json"], "generation_mode": 1})
        assert "Mends clocks.\nOskar mends nets." in contents(run("build", *cards, "--group", group, "--json"))

    @pytest.mark.parametrize(
        ("document", "said"),
        [({"name": "x"}, "no list of members"), ({"members": ["ghost.png"]}, "ysolde.json is not in the group")],
    )
    def test_a_group_file_that_does_not_fit(self, card_json: Path, write: Write, document: Any, said: str) -> None:
        result = run("build", "--card", card_json, "--group", write("group.json", document))
        assert result.code == 2
        assert said in result.stderr

    def test_an_unknown_speaker(self, card_json: Path) -> None:
        result = run("build", "--card", card_json, "--speaker", "Bob")
        assert result.code == 2
        assert "No card has the name 'Bob'" in result.stderr
        assert "Ysolde" in result.stderr

    def test_the_same_card_twice(self, card_json: Path) -> None:
        result = run("build", "--card", card_json, "--card", card_json)
        assert result.code == 2
        assert "Two cards have the file name ysolde.json" in result.stderr


class TestExplaining:
    def test_every_block_has_a_source_and_a_size(self, card_json: Path, preset: Path) -> None:
        report = run("build", "--card", card_json, "--preset", preset, "--explain", "--json").document["report"]
        assert report["completion"] == "chat"
        assert all(block["source"]["stage"] and block["source"]["id"] for block in report["blocks"])
        assert all(block["tokens"] > 0 and block["sent"] and block["why_not"] is None for block in report["blocks"])
        assert sum(block["tokens"] for block in report["blocks"]) < report["tokens"] <= report["budget"]
        text = run("build", "--card", card_json, "--preset", preset, "--explain").text
        assert "[system] compilation: main, " in text
        assert f"{len(report['blocks'])} blocks, {report['tokens']:,} of {report['budget']:,} tokens" in text

    def test_joined_blocks_say_what_they_are_made_of(self, card_json: Path, write: Write) -> None:
        squashing = write("squash.json", CHAT_PRESET | {"squash_system_messages": True})
        text = run("build", "--card", card_json, "--preset", squashing, "--explain").text
        assert "trimming: squashed = main + charDescription" in text

    def test_lore_names_its_entries_and_why_they_are_there(self, card_json: Path, write: Write) -> None:
        entries = {
            "1": {"uid": 1, "comment": "Ferry", "key": ["ferry"], "content": "The ferry is late."},
            "2": {"uid": 2, "comment": "Fog", "constant": True, "content": "Fog lies on the water."},
        }
        book = write("coast.json", {"entries": entries})
        text = run("build", "--card", card_json, "--lore", book, "--message", "The ferry?", "--explain").text
        assert "Ferry (key ferry)" in text
        assert "Fog (constant)" in text

    @pytest.mark.parametrize("kind", [CHAT_PRESET, TEXT_PRESET])
    def test_what_was_left_out_says_why(self, card_json: Path, long_chat: Path, write: Write, kind: Any) -> None:
        arguments = words("build", "--card", card_json, "--history", long_chat, "--preset", write("p.json", kind))
        arguments += ["--context", "1000", "--reserve", "100", "--explain"]
        report = run(*arguments, "--json").document["report"]
        missing = [block for block in report["blocks"] if not block["sent"]]
        reasons = [block["why_not"] for block in missing]
        assert reasons[-1].startswith("does not fit; messages are added from the newest")
        assert set(reasons[:-1]) <= {"older than a message that does not fit"}
        assert report["tokens"] <= report["budget"]
        history = [block for block in report["blocks"] if block["slot"] == "history"]
        assert len(history) + report["out_of_reach"] == 40
        text = run(*arguments).text
        assert "Not sent:" in text
        assert "older messages do not fit." in text
        assert "warning: " in text

    def test_prompts_that_are_switched_on_and_not_sent_say_why(self, card_json: Path, write: Write) -> None:
        prompts = [*CHAT_PRESET["prompts"], {"identifier": "later", "name": "Go on", "injection_trigger": ["continue"]}]
        order = [{"identifier": name} for name in (*PROMPTS, "later", "gone")]
        preset = write("p.json", {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": order}]})
        arguments = words("build", "--card", card_json, "--preset", preset, "--explain")
        unsent = {
            prompt["identifier"]: prompt for prompt in run(*arguments, "--json").document["report"]["unsent_prompts"]
        }
        assert unsent["later"] == {
            "identifier": "later",
            "name": "Go on",
            "reason": "trigger",
            "sentence": "it is for continue, and this is normal",
        }
        assert unsent["gone"]["sentence"] == "the preset has no prompt of this identifier"
        assert not unsent.keys() & {"main", "charDescription", "reminder", "chatHistory"}
        text = run(*arguments).text
        assert "Enabled prompts that are not sent:" in text
        assert "it is for continue, and this is normal" in text

    def test_examples_are_left_out_whole(self, write: Write) -> None:
        dialogues = "".join(f"<START>\n{{{{user}}}}: Why?\n{{{{char}}}}: {'Because. ' * 40}\n" for _ in range(4))
        card = write("card.json", card_files.v3(mes_example=dialogues))
        report = run("build", "--card", card, "--context", "400", "--explain", "--json").document["report"]
        reasons = {block["why_not"] for block in report["blocks"] if block["group"] == "examples" and not block["sent"]}
        assert len(reasons) == 2
        assert "after an example that does not fit" in reasons

    def test_prompts_that_must_be_sent_and_cannot_be(self, card_json: Path) -> None:
        result = run("build", "--card", card_json, "--context", "20", "--reserve", "0", "--explain", "--json")
        reasons = {block["slot"]: block["why_not"] for block in result.document["report"]["blocks"]}
        assert "required, but does not fit" in reasons.values()
        assert reasons["history"] == "the required prompts leave no room"

    def test_a_trace_names_every_stage(self, card_json: Path) -> None:
        arguments = words("build", "--card", card_json, "--trace")
        stages = [stage["name"] for stage in run(*arguments, "--json").document["trace"]["stages"]]
        assert stages[:3] == ["hooks", "lore", "entries"]
        assert "trimming" in run(*arguments).text
        assert "trimming" in run(*arguments, "--explain").text

    def test_a_hostile_card_cannot_reach_the_terminal(self, write: Write) -> None:
        card = write("card.json", card_files.v3(description="\x1b[2Jcleared\x9b31m", name="[bold]Y"))
        for arguments in ([], ["--explain"]):
            text = run("build", "--card", card, *arguments).text
            assert "\x1b" not in text
            assert "\x9b" not in text


class TestStrictness:
    def test_a_prompt_that_had_to_be_trimmed_fails(self, card_json: Path, long_chat: Path) -> None:
        arguments = words("--context", "700", "--reserve", "0", "--strict", "--json")
        result = run("build", "--card", card_json, "--history", long_chat, *arguments)
        assert result.code == 1
        assert result.stdout == b""
        assert result.error["type"] == "TokenBudgetExceeded"

    def test_a_macro_that_nobody_knows_fails(self, write: Write) -> None:
        card = write("card.json", card_files.v3(description="{{nonsense}}"))
        assert "warning: character.description: There is no macro 'nonsense'" in run("build", "--card", card).stderr
        result = run("build", "--card", card, "--strict", "--json")
        assert result.code == 1
        assert result.error["message"] == "character.description: There is no macro 'nonsense'."


OPTIONS = [
    "--card",
    "--group",
    "--preset",
    "--instruct",
    "--context-template",
    "--settings",
    "--history",
    "--lore",
    "--regex",
]


class TestBadInput:
    @pytest.mark.parametrize("option", OPTIONS)
    @pytest.mark.parametrize("content", ["", "{", "7", '{"a": 1}', "\x00\x01"])
    def test_a_sentence_names_the_file(self, write: Write, option: str, content: str) -> None:
        path = write("bad", content)
        result = run("build", option, path)
        assert result.code == 2
        assert result.stdout == b""
        assert result.stderr.startswith(f"tavernkit: {path}: ")

    @pytest.mark.parametrize("option", OPTIONS)
    def test_a_file_that_is_not_there(self, option: str, tmp_path: Path) -> None:
        result = run("build", option, tmp_path / "nowhere")
        assert result.code == 2
        assert "nowhere: No such file or directory." in result.stderr

    def test_standard_input_is_read_once(self) -> None:
        result = run("build", "--card", "-", "--history", "-", stdin=b"{}")
        assert result.code == 2
        assert "Only one file can be -" in result.stderr

    @pytest.mark.parametrize(
        "arguments", [["--dialect", "klingon"], ["--type", "shout"], ["--note-depth", "-1"], ["card"]]
    )
    def test_options_that_make_no_sense(self, arguments: list[str]) -> None:
        assert run("build", *arguments).code == 2

    @settings(max_examples=25)
    @given(st.dictionaries(st.sampled_from([*CHAT_PRESET, "squash_system_messages", "names_behavior"]), json_values))
    def test_any_chat_preset(self, document: dict[str, Any]) -> None:
        source = json.dumps({"prompts": [], **document}).encode()
        assert run("build", "--preset", "-", "--json", stdin=source).code in (0, 2)

    @settings(max_examples=25)
    @given(st.dictionaries(st.sampled_from([*INSTRUCT, *CONTEXT, *TEXT_PRESET, "wrap", "names_behavior"]), json_values))
    def test_any_templates(self, document: dict[str, Any]) -> None:
        source = json.dumps({"instruct": document, "context": document, "preset": document}).encode()
        assert run("build", "--preset", "-", "--json", stdin=source).code in (0, 2)

    @settings(max_examples=25)
    @given(
        st.dictionaries(st.sampled_from(["username", "main_api", "oai_settings", "extension_settings"]), json_values),
        json_values,
    )
    def test_any_settings(self, document: dict[str, Any], power_user: Any) -> None:
        source = json.dumps({**document, "power_user": power_user}).encode()
        assert run("build", "--settings", "-", "--json", stdin=source).code in (0, 2)

    @settings(max_examples=25)
    @given(json_values | st.lists(st.fixed_dictionaries({"role": json_values, "content": json_values}), max_size=3))
    def test_any_json_as_history(self, history: Any) -> None:
        assert run("build", "--history", "-", "--json", stdin=json.dumps(history).encode()).code in (0, 2)
