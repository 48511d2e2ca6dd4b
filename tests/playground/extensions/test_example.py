"""The example of an extension, installed as a wheel and used by a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.playground.races.tabs import Story, Tab
from tests.playground.support.provider_server import ProviderServer, provider_server
from tests.playground.support.rows import open_rows
from tests.playground.support.server import Child, ServerProcess, running

EXAMPLE = Path(__file__).parents[3] / "examples" / "extension"
FORECAST = "The weather is what the almanac says it is."

PROFILE = {
    "pipelines": [
        {
            "id": "sky",
            "permissions": ["artifact_write"],
            "steps": [
                {
                    "id": "look_up",
                    "kind": "almanac",
                    "hook": "before",
                    "place": "the quay",
                    "artifacts": [
                        {
                            "tag": "sky",
                            "access": "run_only",
                            "visibility": "prompt_only",
                            "contentType": "text",
                            "retention": {"mode": "ephemeral"},
                            "promptInclusion": {"mode": "append_after_last_user"},
                        }
                    ],
                }
            ],
        }
    ]
}

ASIDE = """
from tavernkit import Book, Character, CharacterCard, on_load
from tavernkit.artifacts.pipelines import STEP_FUNCTIONS
from tavernkit.characters import Bundle
from tavernkit.chats import ChatFile, ChatMessage
from tavernkit.reading import ImportReport


class Words:
    def estimate(self, text, model_hint=None):
        return len(text.split())


def is_aside(data):
    return data.startswith(b"ASIDE")


def read_card(data):
    card = CharacterCard(character=Character(name=data.decode().split()[1]))
    return Bundle(format="json", card=card, report=ImportReport(format="aside"))


def read_lore(data):
    return Book(name=data.decode().split()[1])


def read_aside_chat(data):
    return ChatFile(messages=(ChatMessage(name=data.decode().split()[1], text="Psst."),))


async def aside(call):
    return "psst"


@on_load("tavernkit.importers")
def add_importers(importers):
    importers.characters.register("aside", is_aside, read_card)
    importers.lorebooks.register("aside", is_aside, read_lore)
    importers.chats.register("aside", is_aside, read_aside_chat)


on_load("tavernkit.token_estimators", lambda estimator: estimator.register("aside-*", Words()))
on_load(STEP_FUNCTIONS, lambda functions: functions.register("aside", aside))
"""
"""A module that adds the kinds of things that the example does not."""

HOOK_THAT_FAILS = """from tavernkit import on_load

@on_load("tavernkit.dialects")
def add(dialects):
    {}["sky"]
"""


class NewProcess(ServerProcess):
    """A server that is started and not forked, so that it finds what its own path has."""

    def spawn(self) -> Child:
        with self.log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "tavernkit", "serve", "--port", str(self.port)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=self.whole_environment(),
            )


@pytest.fixture(scope="module")
def path_with_example(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PYTHONPATH on which the example is installed: built into a wheel, and unpacked as installers do it."""
    folder = tmp_path_factory.mktemp("installed")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    built = subprocess.run(
        [sys.executable, "-c", build, folder], cwd=EXAMPLE, capture_output=True, text=True, check=True, timeout=60
    )
    with zipfile.ZipFile(folder / built.stdout.split()[-1]) as wheel:
        wheel.extractall(folder)
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))


@pytest.fixture
def with_example(path_with_example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", path_with_example)


def tavernkit(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tavernkit", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@contextmanager
def served(folder: Path, model: ProviderServer, database_url: str) -> Iterator[Tab]:
    """Its owner's tab at a server that is running."""
    with (
        running(NewProcess(folder, model_url=model.base_url, database_url=database_url)) as server,
        open_rows(server.database_url) as rows,
        closing(Tab(server.url, rows)) as tab,
    ):
        yield tab


def follow(tab: Tab, story: Story, platform: str, profile: str) -> None:
    """Build prompts as one platform does, with the steps of a profile."""
    settings = f"/spaces/{story.space}/settings"
    version, chosen = tab.get(settings)["settings_version"], {"prompt": {"platform": platform}}
    tab.ask("PATCH", settings, settings_version=version, settings=chosen).raise_for_status()
    tab.ask("PUT", "/pipeline_choices", space_id=story.space, profile_id=profile).raise_for_status()


@pytest.mark.usefixtures("with_example")
def test_replies_of_a_server_use_everything_that_the_example_extension_adds(tmp_path: Path, sqlite_url: str) -> None:
    with provider_server() as model, served(tmp_path, model, sqlite_url) as tab:
        provider = next(item for item in tab.get("/providers")["items"] if item["is_default"])
        path = f"/providers/{provider['id']}"
        version = tab.get(path)["settings_version"]
        refused = tab.ask("PATCH", path, settings_version=version, settings={"dialect": "klingon"}).json()["error"]
        assert refused["sentence"].startswith("There is no dialect 'klingon'. Known: ai21, anthropic, ")
        tab.ask("PATCH", path, settings_version=version, settings={"dialect": "labelled"}).raise_for_status()
        profile = tab.ask("POST", "/pipeline_profiles", name="Sky", content=PROFILE).raise_for_status().json()["id"]
        character = tab.character("Mira", description="Above the bridge: {{weather::the bridge}}.")
        for platform in ("sillytavern", "risuai"):
            story = tab.begin_with([character])
            follow(tab, story, platform, profile)
            preview = (
                tab.ask("POST", f"/conversations/{story.conversation}/preview", kind="normal").raise_for_status().text
            )
            assert FORECAST in preview
            tab.send(story, "[[say: It is as you say.]]").raise_for_status()
            tab.until_quiet(story.conversation)
            assert tab.messages(story.conversation)[-1]["content"] == "It is as you say."
            body: Any = model.bodies[-1]
            assert "dialect" not in body
            assert all(message["content"].startswith(f"[{message['role']}] ") for message in body["messages"])
            prompt = "\n".join(message["content"] for message in body["messages"])
            for text in ("Above the bridge: no wind at all.", "Almanac of the quay: sleet.", FORECAST):
                assert text in prompt


@pytest.mark.usefixtures("with_example")
def test_the_command_line_lists_extensions_and_builds_with_them(tmp_path: Path) -> None:
    (tmp_path / "aside.py").write_text(ASIDE)
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "description": "{{weather::x}}"}}
    (tmp_path / "mira.json").write_text(json.dumps(card))
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    named = {"PYTHONPATH": path, "TAVERNKIT_EXTENSIONS": "aside, tavernkit_weather"}
    weather, aside = json.loads(tavernkit("extensions", "--json", **named).stdout)
    assert (weather["name"], weather["package"]) == ("weather", "tavernkit-weather 0.1.0")
    assert {kind: names for kind, names in weather["registered"].items() if names} == {
        "macros": ["weather"],
        "functions": ["weather"],
        "dialects": ["labelled"],
        "hooks": ["before_trimming tavernkit_weather.add_forecast"],
        "steps": ["almanac"],
    }
    assert (aside["name"], aside["module"], aside["package"]) == ("aside", "aside", "")
    assert {kind: names for kind, names in aside["registered"].items() if names} == {
        "estimators": ["aside-*"],
        "importers": ["characters aside", "lorebooks aside", "chats aside"],
        "step_functions": ["aside"],
    }
    assert "  SillyTavern macros: weather\n" in tavernkit("extensions", **named).stdout
    built = tavernkit("build", "--card", str(tmp_path / "mira.json"), "--message", "Hm?", "--dialect", "labelled")
    assert FORECAST in built.stdout
    assert "[user] Hm?" in built.stdout
    assert "fog" in built.stdout
    counted = tavernkit("tokens", "--text", "one two three", "--model", "aside-7b", **named).stdout
    assert counted == "3 tokens, 13 characters (aside-*, an estimate)\n"
    (tmp_path / "mira.aside").write_text("ASIDE Mira")
    assert "Mira" in tavernkit("card", "show", str(tmp_path / "mira.aside"), **named).stdout
    assert "Mira" in tavernkit("lore", "show", str(tmp_path / "mira.aside"), **named).stdout
    assert "Mira" in tavernkit("chat", "show", str(tmp_path / "mira.aside"), **named).stdout


@pytest.mark.parametrize(
    ("command", "source", "sentence"),
    [
        ("serve", HOOK_THAT_FAILS, "The extension 'broken' cannot be loaded: KeyError: 'sky' (broken.py, line 5)."),
        ("worker", "def (", "The extension 'broken' cannot be loaded: SyntaxError: "),
        ("extensions", "import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("build", "raise SystemExit(0)", "The extension 'broken' cannot be loaded: SystemExit: 0 (broken.py, line 1)."),
    ],
)
def test_an_extension_that_fails_stops_the_start_with_a_sentence(
    tmp_path: Path, command: str, source: str, sentence: str
) -> None:
    (tmp_path / "broken.py").write_text(source)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    data = {"TAVERNKIT_DATA_DIR": str(tmp_path / "data")}
    ended = tavernkit(command, PYTHONPATH=path, TAVERNKIT_EXTENSIONS="broken", **data)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert sentence in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "data").exists()
