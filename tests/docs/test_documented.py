"""What is public is documented, and what the pages show works."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from tavernkit import Character, TavernKitError, User, extensions, sillytavern
from tavernkit.artifacts.pipelines import STEP_FUNCTIONS
from tavernkit.lore import read_book
from tavernkit.sillytavern import errors as sillytavern_errors
from tavernkit.sillytavern.presets import ChatPreset, TextPreset

ROOT = Path(__file__).parents[2]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]}
PUBLIC_MODULES = [
    "tavernkit",
    "tavernkit.artifacts",
    "tavernkit.artifacts.liquid",
    "tavernkit.artifacts.pipelines",
    "tavernkit.benchmarks",
    "tavernkit.card_lint",
    "tavernkit.characters",
    "tavernkit.chats",
    "tavernkit.conformance",
    "tavernkit.dialects",
    "tavernkit.errors",
    "tavernkit.example",
    "tavernkit.extensions",
    "tavernkit.importers",
    "tavernkit.lore",
    "tavernkit.macros",
    "tavernkit.memory",
    "tavernkit.migration",
    "tavernkit.prompt.tokens",
    "tavernkit.reading",
    "tavernkit.risuai",
    "tavernkit.risuai.cbs",
    "tavernkit.risuai.errors",
    "tavernkit.risuai.files",
    "tavernkit.risuai.lorebook",
    "tavernkit.risuai.regex_scripts",
    "tavernkit.risuai.triggers",
    "tavernkit.sillytavern",
    "tavernkit.sillytavern.cleanup",
    "tavernkit.sillytavern.errors",
    "tavernkit.sillytavern.groups",
    "tavernkit.sillytavern.macros",
    "tavernkit.sillytavern.presets",
    "tavernkit.sillytavern.reasoning",
    "tavernkit.sillytavern.regex_scripts",
    "tavernkit.sillytavern.stopping_strings",
    "tavernkit.sillytavern.text_completion",
    "tavernkit.sillytavern.world_info",
]
CODE = " ".join(span for page in PAGES.values() for span in re.findall(r"`[^`]+`|```.*?```", page, re.DOTALL))
WORDS = set(re.findall(r"\w+", CODE))
MIRA, SAM = Character(name="Mira"), User(name="Sam")


def public_names(module: str) -> list[str]:
    """What a package lists, or a module defines."""
    found = vars(importlib.import_module(module))
    defined = [name for name, value in found.items() if getattr(value, "__module__", None) == module]
    return list(found.get("__all__", [name for name in defined if not name.startswith("_")]))


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_name_is_documented(module: str) -> None:
    undocumented = [name for name in public_names(module) if name not in WORDS]
    assert public_names(module)
    assert undocumented == []


def test_the_library_page_lists_what_tavernkit_exports() -> None:
    section = PAGES["docs/library.md"].partition("## What tavernkit exports")[2]
    listed = re.findall(r"`(\w+)`", "\n".join(line for line in section.splitlines() if line.startswith("|")))
    assert sorted(listed) == sorted(importlib.import_module("tavernkit").__all__)


@pytest.mark.parametrize("story", ["sillytavern", "risuai"])
def test_every_field_of_a_story_is_documented(story: str) -> None:
    page = PAGES["docs/prompts.md" if story == "sillytavern" else "docs/risuai.md"]
    fields = importlib.import_module(f"tavernkit.{story}").Story.__struct_fields__
    rows = " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    assert [field for field in fields if f"`{field}`" not in rows] == []


def test_the_errors_page_names_what_a_strict_build_raises_for_a_slow_lore_key() -> None:
    book, _ = read_book({"entries": {"0": {"uid": 0, "key": ["/(?:x+x+)+y/"], "content": "Never."}}})
    with pytest.raises(TavernKitError) as raised:
        sillytavern.build(character=MIRA, user=SAM, books=[book], message="x" * 60, strict=True)
    assert type(raised.value) is sillytavern_errors.LoreParseError
    row = next(line for line in PAGES["docs/errors.md"].splitlines() if line.startswith("| `regex_timeout` | a lore"))
    assert "SillyTavern's `LoreParseError`" in row


def test_the_prompts_page_says_for_which_model_tokens_are_counted() -> None:
    class Noting:
        def __init__(self) -> None:
            self.models: set[str | None] = set()

        def estimate(self, text: str, model_hint: str | None = None) -> int:
            self.models.add(model_hint)
            return len(text)

    for preset, models in (
        (ChatPreset(chat_completion_source="claude", claude_model="claude-x", openai_model="gpt-x"), {"claude-x"}),
        (TextPreset(), {None}),
    ):
        estimator = Noting()
        sillytavern.build(character=MIRA, user=SAM, preset=preset, message="Hm?", estimator=estimator)
        assert estimator.models == models
    line = next(line for line in PAGES["docs/prompts.md"].splitlines() if line.startswith("- `model` decides"))
    assert "Without it a `ChatPreset` says which: the model of its `chat_completion_source`" in line
    assert "A `TextPreset` names none" in line


@pytest.mark.parametrize("module", ["tavernkit.errors", "tavernkit.sillytavern.errors", "tavernkit.risuai.errors"])
def test_every_error_is_on_the_errors_page(module: str) -> None:
    missing = [name for name in public_names(module) if f"`{name}`" not in PAGES["docs/errors.md"]]
    assert missing == []


def test_every_warning_code_is_on_the_errors_page() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    codes = set(re.findall(r"ctx\.warn\(\s*\"(\w+)\"", source))
    assert codes
    assert [code for code in sorted(codes) if f"`{code}`" not in PAGES["docs/errors.md"]] == []


def test_every_scope_of_load_hooks_is_listed() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    scopes = {*re.findall(r"LoadScope\(\s*\"([\w.]+)\"", source), STEP_FUNCTIONS}
    assert len(scopes) >= 8
    for page in ("docs/library.md", "docs/extensions.md"):
        assert set(re.findall(r"^\| `([\w.]+)` \|", PAGES[page], re.MULTILINE)) >= scopes
    assert set(re.findall(r"^    ([\w.]+)  ", extensions.__doc__ or "", re.MULTILINE)) == scopes


def commands(command: Any, path: str) -> list[tuple[str, Any]]:
    found = [(path, command)]
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            found += commands(child, f"{path} {name}")
    return found


def test_every_command_and_option_is_documented() -> None:
    from tavernkit.cli import app

    page = PAGES["docs/cli.md"]
    missing = []
    found = commands(typer.main.get_command(app), "tavernkit")
    assert len(found) > 10
    for path, command in found:
        if path not in page:
            missing.append(path)
        for parameter in command.params:
            missing += [
                f"{path} {option}" for option in parameter.opts if option.startswith("--") and option not in page
            ]
    assert missing == []


def test_every_make_target_is_named() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    text = PAGES["README.md"] + PAGES["CONTRIBUTING.md"]
    assert [target for target in targets if target != "help" and not re.search(rf"\b{target}\b", text)] == []


def test_every_environment_variable_is_documented() -> None:
    source = "".join(path.read_text() for path in (*(ROOT / "src").rglob("*.py"), ROOT / "hatch_build.py"))
    names = set(re.findall(r"TAVERNKIT_[A-Z_]+", source))
    pages = "".join(PAGES.values())
    assert [name for name in sorted(names) if name not in pages] == []


def test_every_setting_is_documented() -> None:
    from tavernkit.playground.base.config import AppConfig

    names = [f"`TAVERNKIT_{name.upper()}`" for name in AppConfig.model_fields]
    assert [name for name in names if name not in PAGES["docs/playground.md"]] == []


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGES[page])
    assert [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()] == []


def test_every_path_in_the_guides_exists() -> None:
    """A path is given from the root, from the package, or from the folder below which a guide says its paths are."""
    found, missing = 0, []
    for guide in PAGES["CONTRIBUTING.md"].split("\n## "):
        bases = ["", "src/tavernkit", *re.findall(r"[Pp]aths are below `([^`]+)`", guide)]
        for path in re.findall(r"`(\.?\w[\w.<>-]*(?:/[\w.<>-]*)+|[\w.<>-]+\.(?:py|md|json|html|toml|yaml))`", guide):
            # What a placeholder stands for does not exist, but its folder does.
            named = path.partition("<")[0].rpartition("/")[0] if "<" in path else path
            found += 1
            if not any((ROOT / base / named).exists() for base in bases):
                missing.append(path)
    assert found > 50
    assert missing == []


BLOCKS = [
    pytest.param(page, kind, code, id=f"{page}-{number}")
    for page, text in sorted(PAGES.items())
    for number, (kind, code) in enumerate(
        re.findall(r"^```(python|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL), 1
    )
]


def test_the_library_page_has_ten_short_programs() -> None:
    section = PAGES["docs/library.md"].partition("## Ten programs")[2].partition("\n## ")[0]
    programs = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert len(programs) == 10
    assert all("assert" in program and len(program.splitlines()) < 25 for program in programs)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages' examples use."""
    from tests.docs import desk

    desk.lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("TAVERNKIT_DATABASE_URL", raising=False)
    return tmp_path


@pytest.mark.parametrize(("page", "kind", "code"), BLOCKS)
def test_examples_run(page: str, kind: str, code: str, desk: Path) -> None:
    if kind == "python" and ("on_load" in code or "dialects.register" in code):
        # What these add is there for the rest of the process, and other tests would find it.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60, env=environment)
        return
    if kind == "python":
        exec(compile(code, page, "exec"), {"__name__": "example"})  # noqa: S102 - our own pages
        return
    import shlex

    from typer.testing import CliRunner

    from tavernkit.cli import app

    for line in code.splitlines():
        if line.startswith("$ tavernkit "):
            result = CliRunner().invoke(app, shlex.split(line.removeprefix("$ tavernkit ").split(" #")[0]))
            assert result.exit_code == 0, f"{line}\n{result.output}"
