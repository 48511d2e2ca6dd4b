"""How strictly a template is read and rendered."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.values import Value

__all__ = ["LiquidOptions"]


class LiquidOptions(Value, frozen=True, kw_only=True):
    """LiquidJS's switches. The defaults are what story templates get.

    `strict_variables` refuses a variable that is not there, `lenient_if` allows it in conditions, in assignments and
    before `default` all the same. Without `strict_filters` an unknown filter changes nothing. `preserve_timezones`
    shows a date at the offset that it is written with. `partials` are the texts that `render` and `include` find by
    name; there is no file system.
    """

    strict_variables: bool = False
    lenient_if: bool = False
    strict_filters: bool = True
    preserve_timezones: bool = False
    partials: Mapping[str, str] = {}
