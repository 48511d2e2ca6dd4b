"""An extension whose hook fails."""

from tavernkit import on_load


@on_load("tavernkit.build_hooks")
def add(hooks: object) -> None:
    {}["sky"]
