"""What all tests share.

Hypothesis has no deadlines: the machine may be busy, and time is measured in benchmarks.
"""

import os

import pytest
from hypothesis import settings

pytest_plugins = ["tests.playground.support.databases", "tests.playground.support.server"]

settings.register_profile("default", deadline=None, max_examples=100, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("TAVERNKIT_HYPOTHESIS", "default"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of tests marked with anyio."""
    return "asyncio"
