"""The list of tests that run on PostgreSQL too names tests that there are."""

from pathlib import Path

from tests.playground.support.on_postgresql import ALSO_ON_POSTGRESQL

PLAYGROUND = Path(__file__).parents[1]


def test_the_list_names_tests_that_there_are() -> None:
    sources = {file: (PLAYGROUND / file).read_text() for file in ALSO_ON_POSTGRESQL}
    named = [(file, name) for file, names in ALSO_ON_POSTGRESQL.items() for name in names]
    assert [(file, name) for file, name in named if f"def {name}(" not in sources[file]] == []
