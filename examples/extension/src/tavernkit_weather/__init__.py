"""Weather for TavernKit: one of each thing that an extension may add. Importing this registers all of it.

A hook may run as soon as it is registered, so what it uses stands above it.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from tavernkit import BuildHooks, Context, on_load
from tavernkit.artifacts.pipelines import Step, StepKinds, StepScope
from tavernkit.dialects import Accepts, DialectOptions, Dialects, WireMessage
from tavernkit.risuai.cbs import CBSCall, Functions
from tavernkit.sillytavern.macros import MacroArgument, MacroDefinitions, MacroExpansion
from tavernkit.values import Json
from tavernkit_weather.sky import sky_over


def weather_macro(_expansion: MacroExpansion, place: str) -> str:
    """`{{weather::the harbour}}` in SillyTavern's prompts."""
    return sky_over(place)


@on_load("sillytavern.macros", id="weather")
def add_macro(registries: Mapping[str, MacroDefinitions]) -> None:
    for registry in registries.values():
        registry.register("weather", weather_macro, arguments=(MacroArgument(name="place"),))


def weather_function(call: CBSCall) -> str:
    """`{{weather::the harbour}}` in RisuAI's prompts."""
    return sky_over(call.need(0))


@on_load("risuai.cbs", id="weather")
def add_function(functions: Functions) -> None:
    functions.register("weather", weather_function)


def labelled(messages: Sequence[WireMessage], _options: DialectOptions) -> Json:
    """OpenAI's messages, each of which begins with who says it."""
    return [{"role": message.role, "content": f"[{message.role}] {message.body or ''}"} for message in messages]


@on_load("tavernkit.dialects", id="weather")
def add_dialect(dialects: Dialects) -> None:
    dialects.register("labelled", labelled, accepts=Accepts())


def add_forecast(ctx: Context) -> None:
    """Tell the model in every prompt where the weather comes from."""
    ctx.add_block(source="weather", role="system", content="The weather is what the almanac says it is.")


@on_load("tavernkit.build_hooks", id="weather")
def add_hook(hooks: BuildHooks) -> None:
    hooks.before_trimming(add_forecast)


class AlmanacStep(Step, frozen=True, kw_only=True, tag="almanac"):
    """A step that looks up the weather of a place: `{"kind": "almanac", "place": "the harbour", …}`."""

    needs: ClassVar[Mapping[str, str]] = {**Step.needs, "place": "An almanac step needs a place."}
    blank: ClassVar[Mapping[str, object]] = {**Step.blank, "place": ""}

    place: str

    @property
    def makes(self) -> Literal["text", "json"]:
        return "text"

    async def run(self, scope: StepScope) -> object:
        scope.input = self.place
        return f"Almanac of {self.place}: {sky_over(self.place)}."


@on_load("tavernkit.pipeline_steps", id="weather")
def add_step(kinds: StepKinds) -> None:
    kinds.register(AlmanacStep)
