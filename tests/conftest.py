"""What all tests share.

Hypothesis has no deadlines: the machine may be busy, and time is measured in benchmarks.
"""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.playground.support.on_postgresql import is_left_to_soak
from tests.support.quick import is_quick, is_quick_file

pytest_plugins = ["tests.playground.support.databases", "tests.playground.support.server"]

TESTS = Path(__file__).parent
SLOWEST = tuple(
    str(TESTS / slow)
    for slow in ("crash", "playground/races", "playground/test_story_machine.py", "playground/api", "browser")
)

settings.register_profile("default", deadline=None, max_examples=25, print_blob=True)
settings.register_profile("quick", deadline=None, max_examples=10, print_blob=True)
settings.register_profile("tenfold", deadline=None, max_examples=400, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2000, print_blob=True)
# The same examples for every mutant, see `scripts/mutate.py`.
settings.register_profile("mutation", deadline=None, max_examples=25, derandomize=True, database=None)
settings.load_profile(os.environ.get("TAVERNKIT_HYPOTHESIS", "default"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of tests marked with anyio."""
    return "asyncio"


def pytest_collection_finish() -> None:
    """What is imported by now stays: the collector of garbage need not look through it again and again."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out PostgreSQL, the browser and server processes")


def pytest_collection() -> None:
    """Next to nothing of what is imported and collected is garbage."""
    gc.disable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the files out that have no quick tests."""
    is_left_out = config.getoption("quick") and collection_path.suffix == ".py" and not is_quick_file(collection_path)
    return True if is_left_out else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker is left alone with it at the end."""
    is_left_out = (lambda item: not is_quick(item)) if config.getoption("quick") else is_left_to_soak
    config.hook.pytest_deselected(items=[item for item in items if is_left_out(item)])
    items[:] = [item for item in items if not is_left_out(item)]
    items.sort(key=lambda item: not str(item.path).startswith(SLOWEST))
