"""CBS, the template language of RisuAI: `{{macro::argument}}` and `{{#block}}…{{/block}}`."""

from tavernkit.risuai.cbs.calculator import calculate
from tavernkit.risuai.cbs.call import CBSCall, CBSFunction, LeftAsText, ParseReturn
from tavernkit.risuai.cbs.engine import CBS, expand
from tavernkit.risuai.cbs.environment import CBSEnvironment
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.cbs.registry import FunctionPack, Functions

__all__ = [
    "CBS",
    "CBSCall",
    "CBSEnvironment",
    "CBSFunction",
    "CBSOptions",
    "FunctionPack",
    "Functions",
    "LeftAsText",
    "ParseReturn",
    "calculate",
    "expand",
]
