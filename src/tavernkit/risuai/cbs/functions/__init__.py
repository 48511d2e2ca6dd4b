"""The functions that every CBS text may call, in packs by topic."""

from __future__ import annotations

from tavernkit.risuai.cbs.functions.arrays import ARRAYS
from tavernkit.risuai.cbs.functions.chance import CHANCE
from tavernkit.risuai.cbs.functions.character import CHARACTER
from tavernkit.risuai.cbs.functions.clock import CLOCK
from tavernkit.risuai.cbs.functions.display import DISPLAY, ESCAPES
from tavernkit.risuai.cbs.functions.encoding import ENCODING
from tavernkit.risuai.cbs.functions.history import HISTORY
from tavernkit.risuai.cbs.functions.logic import LOGIC
from tavernkit.risuai.cbs.functions.numbers import NUMBERS
from tavernkit.risuai.cbs.functions.objects import OBJECTS
from tavernkit.risuai.cbs.functions.strings import STRINGS
from tavernkit.risuai.cbs.functions.system import SYSTEM
from tavernkit.risuai.cbs.functions.variables import VARIABLES
from tavernkit.risuai.cbs.registry import FunctionPack

__all__ = ["BUILTIN"]

BUILTIN: tuple[FunctionPack, ...] = (
    CHARACTER,
    HISTORY,
    CLOCK,
    VARIABLES,
    LOGIC,
    STRINGS,
    NUMBERS,
    ARRAYS,
    OBJECTS,
    ENCODING,
    ESCAPES,
    CHANCE,
    DISPLAY,
    SYSTEM,
)
