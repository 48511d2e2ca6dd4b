import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run

RECORDED = Path(__file__).parents[1] / "conformance" / "sillytavern"


def write(path: Path, cases: list[Any], *, group: str = "card_book", source: str = "SillyTavern 1.15.0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"source": source, "group": group, "defs": {}, "cases": cases}))
    return path


def recorded(group: str) -> list[Any]:
    cases: list[Any] = json.loads((RECORDED / f"{group}.json").read_text())["cases"]
    return cases


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """Nine cases that nothing can agree with."""
    return write(tmp_path / "wrong.json", [{"id": f"w{number}"} for number in range(9)])


@pytest.mark.parametrize("group", ["card_book", "card_io", "dialects"])
def test_the_recorded_cases_agree(group: str) -> None:
    file = RECORDED / f"{group}.json"
    total = len(recorded(group))
    result = run("conformance", file)
    assert (result.code, result.text) == (0, f"{file} {total}/{total}\n")


def test_mismatches_fail_and_are_shown_up_to_the_limit(wrong: Path) -> None:
    result = run("conformance", wrong, "--limit", "2")
    assert result.code == 1
    lines = result.text.splitlines()
    assert lines[0] == f"{wrong} 0/9"
    assert [line for line in lines if line.startswith("  w")] == ["  w0", "  w1"]
    assert lines[-1] == "  and 7 more"
    assert any(line.strip().startswith("expected ") for line in lines)
    assert any(line.strip().startswith("actual ") for line in lines)


def test_five_mismatches_are_shown_unless_said_otherwise(wrong: Path) -> None:
    assert len(run("conformance", wrong, "--json").document["files"][0]["mismatches"]) == 5


def test_json_says_where_and_how_a_case_differs(tmp_path: Path) -> None:
    [case] = [case for case in recorded("card_book") if "entries" in case["expected"]][:1]
    [key] = list(case["expected"]["entries"])[:1]
    case["expected"]["entries"][key]["content"] = "something else"
    result = run("conformance", write(tmp_path / "x.json", [case]), "--json")
    assert result.code == 1
    assert (result.document["passed"], result.document["total"]) == (0, 1)
    [mismatch] = result.document["files"][0]["mismatches"]
    assert mismatch["path"] == f"{key}.content"
    assert mismatch["expected"] == "something else"


def test_a_file_without_cases_passes(tmp_path: Path) -> None:
    file = write(tmp_path / "empty.json", [])
    assert run("conformance", file) == (0, f"{file} 0/0\n".encode(), "")


def test_a_folder_replays_what_it_can_and_counts_the_rest(tmp_path: Path) -> None:
    good = write(tmp_path / "a" / "good.json", recorded("card_book"))
    unknown = write(tmp_path / "b" / "unknown.json", [{}], group="no_such_group")
    other = tmp_path / "other.json"
    other.write_text("{}")
    (tmp_path / "notes.txt").write_text("not for us")
    result = run("conformance", tmp_path)
    assert result.code == 0
    total = len(recorded("card_book"))
    assert result.text.splitlines() == [
        f"{good} {total}/{total}",
        f"{unknown} skipped: no way to replay sillytavern/no_such_group",
        f"{other} skipped: not a file of recorded cases",
        f"{total} of {total} cases agree in 1 files; 2 files skipped",
    ]
    skipped = run("conformance", tmp_path, "--json").document["skipped"]
    assert [file["file"] for file in skipped] == [str(unknown), str(other)]


def test_an_unknown_group_that_was_named_is_an_error(tmp_path: Path) -> None:
    unknown = write(tmp_path / "unknown.json", [{}], group="no_such_group")
    result = run("conformance", unknown)
    assert result.code == 2
    assert result.stderr.startswith("tavernkit: unknown.json: no way to replay sillytavern/no_such_group")
    assert run("conformance", unknown, "--json").document["errors"][0]["type"] == "ParseError"


def test_an_error_counts_more_than_a_mismatch_and_stops_nothing(wrong: Path, tmp_path: Path) -> None:
    result = run("conformance", tmp_path / "missing.json", wrong)
    assert result.code == 2
    assert f"{wrong} 0/9" in result.text
    assert "missing.json" in result.stderr


def test_a_damaged_file_in_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "damaged.json").write_text('{"source": "SillyTavern", ')
    assert run("conformance", tmp_path).code == 2


def test_a_reference_to_nothing_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "x.json", [{"id": "x", "input": {"$ref": "d1"}}])
    assert run("conformance", file).code == 2


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    result = run("conformance", tmp_path)
    assert result.code == 2
    assert str(tmp_path) in result.stderr


def test_reads_standard_input() -> None:
    total = len(recorded("card_book"))
    result = run("conformance", "-", stdin=(RECORDED / "card_book.json").read_bytes())
    assert (result.code, result.text) == (0, f"standard input {total}/{total}\n")


def test_a_kind_of_case_that_nothing_replays_is_an_error_that_names_it(tmp_path: Path) -> None:
    for source, group, case in (
        ("RisuAI 166", "formats", {"kind": "no_such_kind"}),
        ("RisuAI 166", "formats", {}),
        ("SillyTavern 1.18.0", "dialects", {"group": "no_such_kind"}),
        ("SillyTavern 1.18.0", "cleanup", {"fn": "no_such_kind"}),
    ):
        file = write(tmp_path / "x.json", [{"id": "x", **case}], group=group, source=source)
        result = run("conformance", file, "--json")
        assert result.code == 1
        [mismatch] = result.document["files"][0]["mismatches"]
        kind = repr("no_such_kind" if case else None)
        assert mismatch["actual"].startswith(
            f"ParseError: no way to replay a case of the kind {kind}; there is one for "
        )


@pytest.mark.parametrize(
    "card", [None, [], "card", {}, {"foo": 1}, {"spec": "chara_card_v2"}, {"spec": "x", "data": {}}]
)
def test_a_card_that_risuai_refuses_agrees_when_it_was_refused(card: Any, tmp_path: Path) -> None:
    case = {"id": "x", "kind": "import_bad", "card": card, "char": None}
    assert run("conformance", write(tmp_path / "x.json", [case], group="formats", source="RisuAI")).code == 0
