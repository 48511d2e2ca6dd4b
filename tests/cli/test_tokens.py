from pathlib import Path

from tests.cli.running import run

TEXT = "Mind the cat, she's a parcel. 🐈"


def test_counts_a_text() -> None:
    result = run("tokens", "--text", "Hello world", "--model", "gpt-4o")
    assert result.code == 0
    assert result.text == "2 tokens, 11 characters (o200k_base, exact)\n"


def test_counts_a_file_and_standard_input_alike(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    from_file = run("tokens", path, "--json").document
    assert from_file["tokens"] > 0
    assert from_file["characters"] == len(TEXT)
    assert run("tokens", "-", "--json", stdin=TEXT.encode()).document == from_file
    assert run("tokens", "--json", stdin=TEXT.encode()).document == from_file
    assert run("tokens", "--json", "--text", TEXT).document == from_file


def test_the_pieces_are_the_text() -> None:
    document = run("tokens", "--text", TEXT, "--pieces", "--json").document
    assert len(document["pieces"]) == document["tokens"]
    assert "".join(piece["text"] for piece in document["pieces"]) == TEXT


def test_pieces_are_listed_one_to_a_line() -> None:
    lines = run("tokens", "--text", "Hello\nworld", "--pieces").text.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines[1:]] == ['"Hello"', '"\\n"', '"world"']


def test_the_model_decides_the_encoding() -> None:
    assert run("tokens", "--text", "x", "--model", "gpt-4", "--json").document["encoding"] == {
        "name": "cl100k_base",
        "source": "tiktoken",
        "exact": True,
    }
    assert run("tokens", "--text", "x", "--model", "somebody/else", "--json").document["encoding"]["exact"] is False


def test_special_tokens_in_a_text_are_text() -> None:
    assert run("tokens", "--text", "<|endoftext|>", "--json").document["tokens"] > 1


def test_an_empty_text_has_no_tokens() -> None:
    assert run("tokens", "--text", "", "--json").document["tokens"] == 0


def test_binary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"\x00\x01\x02")
    result = run("tokens", path)
    assert result.code == 2
    assert result.stderr == f"tavernkit: {path}: The file is binary, not text.\n"


def test_a_file_and_a_text_exclude_each_other(tmp_path: Path) -> None:
    assert run("tokens", tmp_path / "x", "--text", "x").code == 2
