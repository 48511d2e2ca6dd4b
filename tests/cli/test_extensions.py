from pathlib import Path

import pytest

from tests.cli.running import run

ASIDE = "tests.cli.aside_extension"


@pytest.fixture(autouse=True)
def no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAVERNKIT_EXTENSIONS", raising=False)


def test_without_extensions_the_list_says_so() -> None:
    assert run("extensions").text == "No extension is installed, and TAVERNKIT_EXTENSIONS names none.\n"
    assert run("extensions", "--json").document == []


def test_a_module_that_the_setting_names_adds_to_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAVERNKIT_EXTENSIONS", f" {ASIDE},, {ASIDE}")
    assert run("extensions").text.splitlines() == [
        f"{ASIDE} ({ASIDE})",
        "  token estimators: aside-*",
        "  importers: characters aside, lorebooks aside, chats aside",
        "  step functions: tests.whisper",
    ]
    counted = run("tokens", "--text", "one two three", "--model", "aside-7b").text
    assert counted == "3 tokens, 13 characters (aside-*, an estimate)\n"
    file = tmp_path / "mira.aside"
    file.write_text("ASIDE Mira")
    assert run("card", "show", file, "--json").document["name"] == "Mira"
    assert "Mira" in run("lore", "show", file).text
    assert "Mira" in run("chat", "show", file).text


@pytest.mark.parametrize(
    ("name", "source", "cause"),
    [
        ("has_bad_syntax", "def (", "SyntaxError: invalid syntax (has_bad_syntax.py, line 1)"),
        ("exits", "raise SystemExit(0)", "SystemExit: 0 (exits.py, line 1)"),
        ("wants_more", "import not_there", "ModuleNotFoundError: No module named 'not_there' (wants_more.py, line 1)"),
        ("not_there", None, "ModuleNotFoundError: No module named 'not_there'"),
        (
            "takes_a_name",
            "from tavernkit import dialects\ndialects.register('openai', print)",
            "ValueError: A dialect named 'openai' is registered. Use replace=True to replace it "
            "(takes_a_name.py, line 2)",
        ),
    ],
)
def test_an_extension_that_fails_is_named_with_its_cause(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, source: str | None, cause: str
) -> None:
    if source is not None:
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TAVERNKIT_EXTENSIONS", name)
    for command in (["extensions"], ["tokens", "--text", "Hm?"]):
        ended = run(*command)
        advice = "Correct it, uninstall it, or take it out of the setting that names it."
        assert (ended.code, ended.text) == (2, "")
        assert ended.stderr == f"tavernkit: The extension {name!r} cannot be loaded: {cause}. {advice}\n"


def test_the_database_can_be_looked_after_whatever_is_wrong_with_extensions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("TAVERNKIT_EXTENSIONS", "not_there")
    assert run("db", "check", "--json").document["is_current"] is False


def test_a_setting_that_names_no_module_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVERNKIT_EXTENSIONS", "my extension")
    refused = run("extensions", "--json")
    assert refused.code == 2
    assert refused.error == {
        "type": "ExtensionError",
        "message": "'my extension' is not the name of a module.",
    }
