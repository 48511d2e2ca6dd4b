"""The real program, as a shell starts it."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.characters import card_files

PROGRAM = [sys.executable, "-m", "tavernkit"]


def start(
    *arguments: str | Path, input: bytes | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, input=input, env=env, capture_output=True, check=False, timeout=60)


def on_a_terminal(*arguments: str | Path, **environment: str) -> str:
    """Everything that the program shows on a terminal."""
    ours, theirs = pty.openpty()
    clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**clean, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # what Linux says when the other side has closed
            break
        if not data:
            break
        shown += data
    os.close(ours)
    process.wait(timeout=60)
    return shown.decode()


@pytest.mark.parametrize("module", ["tavernkit", "tavernkit.cli"])
def test_both_modules_are_the_program(module: str) -> None:
    result = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, check=True)
    assert result.stdout.startswith(b"tavernkit ")


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, tavernkit.cli; print([name for name in ('rich', 'tiktoken', 'kitoken') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert result.stdout == b"[]\n"


def test_output_and_errors_go_their_own_ways(card_json: Path, broken: Path) -> None:
    good = start("card", "show", card_json, "--json")
    assert (good.returncode, good.stderr) == (0, b"")
    assert json.loads(good.stdout)["name"] == "Ysolde"
    bad = start("card", "show", broken)
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert b"Traceback" not in bad.stderr


def test_a_card_through_a_pipe(card_json: Path) -> None:
    png = start("card", "convert", "-", "--to", "png", input=card_json.read_bytes())
    assert png.stdout.startswith(card_files.SIGNATURE)
    shown = start("card", "show", "-", "--json", input=png.stdout)
    assert json.loads(shown.stdout)["name"] == "Ysolde"


def test_no_colours_in_a_pipe() -> None:
    result = start("prompt")
    assert result.returncode == 0
    assert b"\x1b" not in result.stdout


@pytest.mark.parametrize("arguments", [("prompt",), ("prompt", "--json"), ("card", "convert", "-", "--to", "png")])
def test_a_reader_that_goes_away_ends_it_quietly(arguments: tuple[str, ...], card_json: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with card_json.open("rb") as card:
        result = subprocess.run(
            [*PROGRAM, *arguments], stdin=card, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60
        )
    os.close(writing)
    assert (result.returncode, result.stderr) == (141, b"")


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*PROGRAM, "tokens", str(pipe)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Tests that run in the background of a shell inherit that interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    with pipe.open("wb"):  # opens when the program does, which then waits for a text
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, b"", b"")


def test_a_terminal_gets_colours_unless_it_refuses_them() -> None:
    assert "\x1b[36m" in on_a_terminal("prompt")
    assert "\x1b[3" not in on_a_terminal("prompt", NO_COLOR="1")


def test_long_work_shows_progress_on_a_terminal(card_json: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(card_json.read_bytes())
    assert "Checking" in on_a_terminal("card", "validate", card_json, other)
    assert b"Checking" not in start("card", "validate", card_json, other).stderr


def test_a_terminal_that_cannot_show_a_character_gets_another(tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    card.write_text(json.dumps(card_files.v3(name="Ysolde 🐈")))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = start("card", "show", card, env=environment)
    assert result.returncode == 0
    assert result.stdout.startswith(b"Ysolde ?")
    shown = start("card", "show", card, "--json", env=environment)
    assert json.loads(shown.stdout)["name"] == "Ysolde 🐈"
