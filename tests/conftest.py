"""What all tests share.

Hypothesis has no deadlines: the machine may be busy, and time is measured in benchmarks.
"""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.playground.support.databases", "tests.playground.support.server"]

TESTS = Path(__file__).parent
SLOWEST = ("crash", "playground/races", "playground/test_story_machine.py", "playground/api", "browser")

settings.register_profile("default", deadline=None, max_examples=100, print_blob=True)
settings.register_profile("tenfold", deadline=None, max_examples=1000, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("TAVERNKIT_HYPOTHESIS", "default"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of tests marked with anyio."""
    return "asyncio"


def pytest_collection_finish() -> None:
    """What is imported by now stays: the collector of garbage need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker is left alone with it at the end."""
    items.sort(key=lambda item: not any(item.path.is_relative_to(TESTS / slow) for slow in SLOWEST))
