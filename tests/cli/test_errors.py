from pathlib import Path

import pytest

from tests.cli.running import run

READING_COMMANDS = [
    ("card", "show"),
    ("card", "validate"),
    ("card", "convert", "--to", "charx"),
    ("card", "extract"),
    ("lore", "show"),
    ("lore", "convert", "--to", "world"),
    ("tokens",),
    ("prompt",),
    ("prompt", "--lore"),
    ("prompt", "--history"),
    ("conformance",),
]


@pytest.mark.parametrize("command", READING_COMMANDS)
def test_a_missing_file_is_one_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    missing = tmp_path / "missing.png"
    result = run(*command, missing)
    assert result.code == 2
    assert result.stderr == f"tavernkit: {missing}: No such file or directory.\n"


@pytest.mark.parametrize("command", READING_COMMANDS)
def test_after_json_an_error_is_one_object(command: tuple[str, ...], tmp_path: Path) -> None:
    missing = tmp_path / "missing.png"
    # What follows the command is the file, as an option may be waiting for its value.
    result = (
        run(*command, missing, "-o", tmp_path / "out", "--json")
        if "convert" in command
        else run(*command, missing, "--json")
    )
    assert result.code == 2
    assert set(result.error) == {"type", "message"}
    assert str(missing) in result.error["message"]


@pytest.mark.parametrize("command", [command for command in READING_COMMANDS if command[0] != "conformance"])
def test_a_folder_is_not_a_file(command: tuple[str, ...], tmp_path: Path) -> None:
    result = run(*command, tmp_path)
    assert result.code == 2
    assert "Is a directory." in result.stderr


@pytest.mark.parametrize(
    "command", [("card", "show"), ("card", "convert", "--to", "charx"), ("card", "extract"), ("prompt",)]
)
def test_a_broken_card_names_the_file(command: tuple[str, ...], broken: Path) -> None:
    result = run(*command, broken)
    assert result.code == 2
    assert result.stdout == b""
    assert result.stderr.startswith(f"tavernkit: {broken}: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command", [("card", "show"), ("card", "convert", "--to", "charx"), ("card", "extract"), ("prompt",)]
)
def test_an_unsupported_version_has_its_own_code(command: tuple[str, ...], from_the_future: Path) -> None:
    result = run(*command, from_the_future)
    assert result.code == 3
    assert result.stderr.startswith(f"tavernkit: {from_the_future}: ")


def test_the_worst_of_several_errors_decides(broken: Path, from_the_future: Path) -> None:
    result = run("card", "convert", broken, from_the_future, "--to", "charx")
    assert result.code == 3
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == [str(broken), str(from_the_future)]
    assert run("card", "convert", broken, from_the_future, "--to", "charx", "--json").error["type"] == "BatchError"


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("card", "nonsense"), ("card", "show"), ("tokens", "--nonsense"), ("prompt", "--context", "x")],
)
def test_usage_errors_are_one_sentence(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert result.stdout == b""
    assert result.stderr.startswith("tavernkit: ")
    assert result.stderr.endswith(" See tavernkit --help.\n")
    assert run(*arguments, "--json").error["type"] == "UsageError"


def test_json_behind_two_dashes_is_a_file_name(tmp_path: Path) -> None:
    assert run("card", "show", "--", "--json").stderr == "tavernkit: --json: No such file or directory.\n"


def test_an_empty_standard_input_is_an_error() -> None:
    result = run("card", "show", "-", stdin=b"")
    assert result.code == 2
    assert result.stderr.startswith("tavernkit: standard input: ")


def test_an_error_message_cannot_reach_the_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in run("card", "show", tmp_path / "\x1b[2J").stderr


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.png"
    with path.open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    result = run("card", "show", path)
    assert result.code == 2
    assert "too large" in result.stderr


@pytest.mark.parametrize("arguments", [(), ("card",), ("lore",)])
def test_a_group_alone_explains_itself(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout == run(*arguments, "--help").stdout
    assert "Usage:" in result.text


def test_the_help_lists_the_exit_codes() -> None:
    assert "Exit codes:\n    0  done\n" in run("--help").text


def test_the_version() -> None:
    assert run("--version").text == "tavernkit 0.1.0\n"
