import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tavernkit

REPORT = """
import json, warnings
from tavernkit.prompt.tokens import CharacterRatio, ModelTokenEstimator

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    estimator = ModelTokenEstimator(fallback=CharacterRatio(4))
    counts = [estimator.estimate("a" * 40, hint) for hint in ("gpt-4o", "gpt-4o-mini", None)]
    info = estimator.describe("gpt-4o")
    pieces = estimator.tokenize("a", "gpt-4o")

print(json.dumps({
    "counts": counts,
    "info": [info.name, info.source, info.exact],
    "pieces": pieces,
    "warnings": [[one.category.__name__, str(one.message)] for one in caught],
}))
"""


@pytest.fixture
def source_tree(tmp_path: Path) -> Path:
    """The package as it is in a clone that nobody has built."""
    package = Path(tavernkit.__file__).parent
    shutil.copytree(package, tmp_path / "tavernkit", ignore=shutil.ignore_patterns("*.tiktoken", "__pycache__"))
    return tmp_path


def report(source_tree: Path) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        cwd=source_tree,
        env={"PYTHONPATH": str(source_tree)},
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_without_a_vocabulary_tokens_are_guessed_and_it_is_said_once(source_tree: Path) -> None:
    found = report(source_tree)
    assert found["counts"] == [10, 10, 10]
    assert found["info"] == ["characters", "4 characters per token", False]
    assert found["pieces"] == []
    [[category, message]] = found["warnings"]
    assert category == "RuntimeWarning"
    assert message.startswith("The vocabulary o200k_base.tiktoken cannot be read (No such file or directory)")


def test_a_damaged_vocabulary_is_not_used(source_tree: Path) -> None:
    damaged = source_tree / "tavernkit/prompt/tokens/vocabulary/o200k_base.tiktoken"
    damaged.write_bytes(b"YQ== 0\n")
    found = report(source_tree)
    assert found["info"] == ["characters", "4 characters per token", False]
    [[_, message]] = found["warnings"]
    assert message.startswith("The vocabulary o200k_base.tiktoken is damaged")
