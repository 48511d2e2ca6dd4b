"""Starting up, beside a bare interpreter."""

import subprocess
import sys
from collections.abc import Iterator

from tavernkit.benchmarks import Benchmark


def start(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - ourselves


def benchmarks() -> Iterator[Benchmark]:
    yield Benchmark(
        name="import tavernkit",
        ours=lambda: start("import tavernkit"),
        baseline=lambda: start("pass"),
        note="an interpreter that imports nothing",
    )
