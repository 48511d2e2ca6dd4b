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
from tests.playground.support.server import Child, Role, ServerProcess, running

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


def tavernkit(*arguments: str) -> str:
    """What the command line says."""
    command = [sys.executable, "-m", "tavernkit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


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
        assert refused["sentence"].startswith("The dialect “klingon” does not exist. Choose one of: ai21, anthropic, ")
        tab.ask("PATCH", path, settings_version=version, settings={"dialect": "labelled"}).raise_for_status()
        nowhere = {"pipelines": [{"id": "sky", "steps": [{"id": "look_up", "kind": "almanac", "hook": "before"}]}]}
        checked = tab.ask("POST", "/pipeline_profiles/check", content=nowhere).raise_for_status().json()["problems"]
        assert [problem["message"] for problem in checked] == ["An almanac step needs a place."]
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
def test_the_command_line_lists_the_example_and_builds_with_it(tmp_path: Path) -> None:
    (weather,) = json.loads(tavernkit("extensions", "--json"))
    assert (weather["name"], weather["module"]) == ("weather", "tavernkit_weather")
    assert weather["package"] == "tavernkit-weather 0.1.0"
    assert {kind: names for kind, names in weather["registered"].items() if names} == {
        "macros": ["weather"],
        "functions": ["weather"],
        "dialects": ["labelled"],
        "hooks": ["before_trimming tavernkit_weather.add_forecast"],
        "steps": ["almanac"],
    }
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "description": "{{weather::x}}"}}
    (tmp_path / "mira.json").write_text(json.dumps(card))
    built = tavernkit("build", "--card", str(tmp_path / "mira.json"), "--message", "Hm?", "--dialect", "labelled")
    for text in ("[system] fog", "[user] Hm?", FORECAST):
        assert text in built


@pytest.mark.parametrize("role", ["serve", "worker"])
def test_an_extension_that_fails_stops_the_start_with_a_sentence(tmp_path: Path, role: Role) -> None:
    process = ServerProcess(tmp_path, model_url="", role=role, extensions="tests.playground.extensions.broken")
    with pytest.raises(RuntimeError) as raised:
        process.start()
    said = str(raised.value).partition("\n")[2]
    assert said.startswith("tavernkit: The extension 'tests.playground.extensions.broken' cannot be loaded: KeyError: ")
    assert "'sky' (broken.py, line 8). Correct it" in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "data").exists()
