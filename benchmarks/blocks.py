"""Making and changing blocks, beside plain dictionaries."""

from collections.abc import Iterator

from tavernkit import Block
from tavernkit.benchmarks import Benchmark

FIELDS = {"id": "b1", "role": "user", "content": "Hello.", "slot": "history", "token_budget_group": "history"}


def benchmarks() -> Iterator[Benchmark]:
    def create() -> None:
        for _ in range(1000):
            Block(id="b1", role="user", content="Hello.", slot="history", token_budget_group="history")

    def create_dicts() -> None:
        for _ in range(1000):
            made = {
                "id": "b1", "role": "user", "content": "Hello.", "name": None, "slot": "history", "enabled": True,
                "removable": True, "insertion_point": "relative", "depth": 0, "order": 100, "priority": 100,
                "token_budget_group": "history", "bundle": None, "attachments": (), "message_metadata": {},
                "metadata": {},
            }  # fmt: skip

    block = Block(**FIELDS)
    as_dict = {name: getattr(block, name) for name in Block.__struct_fields__}

    def replace() -> None:
        for _ in range(1000):
            block.with_(enabled=False, priority=50)

    def replace_dicts() -> None:
        for _ in range(1000):
            made = {**as_dict, "enabled": False, "priority": 50}

    yield Benchmark(name="block create ×1000", ours=create, baseline=create_dicts, note="dict literals, all fields")
    yield Benchmark(name="block replace ×1000", ours=replace, baseline=replace_dicts, note="dict copies")
