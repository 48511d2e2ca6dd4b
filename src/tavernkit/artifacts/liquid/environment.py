"""The one place that knows which tags and filters there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from liquid import Environment
from liquid.token import Token

from tavernkit.artifacts.liquid.filters import FILTERS
from tavernkit.artifacts.liquid.lexer import tokens
from tavernkit.artifacts.liquid.limits import MAX_NESTING
from tavernkit.artifacts.liquid.tags import TAGS

__all__ = ["StoryEnvironment", "environment"]


class StoryEnvironment(Environment):
    """python-liquid with LiquidJS's grammar, tags and filters, and none of its own."""

    block_nesting_limit = MAX_NESTING
    suppress_blank_control_flow_blocks = False

    def tokenizer(self) -> Callable[[str], Iterator[Token]]:
        return tokens

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        del extra
        for tag in TAGS:
            self.add_tag(tag)
        self.filters.update(FILTERS)


@lru_cache(maxsize=2)
def environment(*, strict_filters: bool) -> StoryEnvironment:
    return StoryEnvironment(strict_filters=strict_filters)
