"""The store in memory keeps the contract of all stores."""

from __future__ import annotations

import pytest
from tests.artifacts.builders import SESSION, write
from tests.artifacts.store_contract import StoreContract, StoreFactory

from tavernkit.artifacts import MemoryStore


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def make_store(self) -> StoreFactory:
        return lambda ids: MemoryStore(ids=ids)


@pytest.mark.anyio
async def test_it_numbers_its_archive_rows_by_itself() -> None:
    store = MemoryStore()
    await store.write(write("a"))
    (row,) = await store.reset(SESSION, ["mood"], now=write().now)
    assert row.id == "archive-1"
