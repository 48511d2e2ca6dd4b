"""The filters of LiquidJS, a module for each topic. A filter is given the rendering, the value and its arguments."""

from collections.abc import Callable, Mapping

from tavernkit.artifacts.liquid.filters.arrays import FILTERS as ARRAYS
from tavernkit.artifacts.liquid.filters.dates import FILTERS as DATES
from tavernkit.artifacts.liquid.filters.encoding import FILTERS as ENCODING
from tavernkit.artifacts.liquid.filters.html import FILTERS as HTML
from tavernkit.artifacts.liquid.filters.json import FILTERS as JSON
from tavernkit.artifacts.liquid.filters.numbers import FILTERS as NUMBERS
from tavernkit.artifacts.liquid.filters.searching import FILTERS as SEARCHING
from tavernkit.artifacts.liquid.filters.strings import FILTERS as STRINGS
from tavernkit.artifacts.liquid.filters.words import FILTERS as WORDS

__all__ = ["FILTERS"]

FILTERS: Mapping[str, Callable[..., object]] = {
    **ARRAYS,
    **DATES,
    **ENCODING,
    **HTML,
    **JSON,
    **NUMBERS,
    **SEARCHING,
    **STRINGS,
    **WORDS,
}
