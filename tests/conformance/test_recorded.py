"""Every recorded case that something here can replay agrees."""

from pathlib import Path

import pytest

from tavernkit.conformance import read_vectors, run_file
from tavernkit.errors import ParseError

FOLDER = Path(__file__).parent
# Defaults and registries that stand beside the cases.
NO_CASES = {"world_info_defaults.json", "macro_registry.json", "macro_registry_next.json"}
FILES = sorted(path for path in FOLDER.glob("*/*.json") if path.name not in NO_CASES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recorded_cases_agree(path: Path) -> None:
    result = run_file(read_vectors(path))
    assert result.total > 0
    assert [failure.id for failure in result.failures] == []


@pytest.mark.parametrize("name", sorted(NO_CASES & {path.name for path in FOLDER.glob("*/*.json")}))
def test_what_holds_no_cases_is_told_apart(name: str) -> None:
    with pytest.raises(ParseError, match="not a file of recorded cases"):
        read_vectors(FOLDER / "sillytavern" / name)
