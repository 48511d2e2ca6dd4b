"""The list of tests that run on PostgreSQL too names tests that there are."""

from pathlib import Path

import pytest

from tests.playground.support.on_postgresql import ALSO_ON_POSTGRESQL

PLAYGROUND = Path(__file__).parents[1]


@pytest.mark.parametrize("file", ALSO_ON_POSTGRESQL)
def test_the_list_names_tests_that_there_are(file: str) -> None:
    source = (PLAYGROUND / file).read_text()
    assert [name for name in ALSO_ON_POSTGRESQL[file] if f"def {name}(" not in source] == []
