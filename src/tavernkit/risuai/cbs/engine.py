"""CBS behind one door, and the engine that other parts of a build know."""

from __future__ import annotations

from functools import cache

from tavernkit.load_hooks import LoadScope
from tavernkit.macros.engine import MacroEnvironment
from tavernkit.prompt.parts import TracedText
from tavernkit.prompt.tracing import answered, filled_up, first_source, realigned
from tavernkit.risuai.cbs.environment import CBSEnvironment, as_environment
from tavernkit.risuai.cbs.following import TracedParse
from tavernkit.risuai.cbs.functions import BUILTIN
from tavernkit.risuai.cbs.limits import Fuel, OutOfFuel
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.cbs.parse import SHOWN, Circumstances, Lineage, TextParse, parse
from tavernkit.risuai.cbs.registry import Functions
from tavernkit.risuai.cbs.scanner import ScriptCache
from tavernkit.risuai.errors import CBSError
from tavernkit.risuai.problems import CBSProblem
from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_strings import join_halves

_TOO_DEAR = (
    "A text costs too much to expand. Look for an {{#each}} inside another one, or for a macro that brings in the text "
    "that it stands in."
)


shared_functions = LoadScope("risuai.cbs", lambda: Functions(BUILTIN))
"""The functions that every text may call: the built-in ones and those of the load hooks of this scope."""


class CBS:
    """Expands texts with a table of functions, a copy of the shared ones unless it is given another.

    A text that costs too much is given back as it was written, or refused when parsing is strict.
    """

    def __init__(self, functions: Functions | None = None) -> None:
        self.functions = shared_functions().copy() if functions is None else functions
        self._cache = ScriptCache()

    def expand(self, text: str, environment: MacroEnvironment) -> str:
        if "{" not in text and "<" not in text:
            return text
        environment = as_environment(environment)
        circumstances = Circumstances(
            text=text,
            scene=environment.scene,
            functions=self.functions.table,
            cache=self._cache,
            fuel=Fuel(text),
            parser=TracedParse if isinstance(text, TracedText) else TextParse,
            tell=None if environment.options.quietly else environment.scene.on_problem,
        )
        lineage = Lineage(environment.options)
        try:
            parsed = parse(text, circumstances, lineage, environment.temporary, is_outermost=True)
            return _followed(text, parsed) if isinstance(text, TracedText) else join_halves(parsed)
        except OutOfFuel:
            is_strict, snippet = environment.options.strict, text[:SHOWN]
            if environment.scene.on_problem is not None:
                sentence = _TOO_DEAR if is_strict else f"{_TOO_DEAR} It is told as it was written: {snippet}…"
                environment.scene.on_problem(CBSProblem(code="macro_limit", message=sentence, snippet=snippet))
            if is_strict:
                raise CBSError(_TOO_DEAR) from None
            return text


def _followed(text: str, parsed: str) -> str:
    """What has become of a text that knows where it comes from. Braces that are left as they are belong to the text
    around them."""
    if not isinstance(parsed, TracedText):
        return answered(join_halves(parsed), "return", (), first_source(text))
    plain = join_halves(parsed.plain)
    return filled_up(parsed if plain == parsed.plain else realigned(parsed, plain))


@cache
def _standard() -> CBS:
    return CBS(shared_functions())


def expand(text: str, scene: RisuScene, options: CBSOptions = CBSOptions()) -> str:  # noqa: B008 - a frozen value
    """The text with its macros and blocks worked out, as RisuAI does it or as the scene's own engine does."""
    return (scene.macros or _standard()).expand(text, CBSEnvironment(scene, options))
