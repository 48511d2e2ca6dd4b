"""The front door of RisuAI's layer: what RisuAI has goes in, the request it would send comes out."""

from __future__ import annotations

from typing import Unpack

from tavernkit.characters.character import Bundle
from tavernkit.prompt.build import BuildInputs, build_on, shows_inputs
from tavernkit.prompt.built import Built
from tavernkit.prompt.context import Context
from tavernkit.prompt.finishing import before_trimming
from tavernkit.prompt.inputs import check_kind, unpacked
from tavernkit.prompt.pipeline import Pipeline
from tavernkit.risuai.files.character_file import character_of
from tavernkit.risuai.replying import RisuResult, result_of
from tavernkit.risuai.settings import RisuSettings
from tavernkit.risuai.stages.assembly import card_costs, compilation
from tavernkit.risuai.stages.chat import history
from tavernkit.risuai.stages.injection import injections
from tavernkit.risuai.stages.inputs import hooks
from tavernkit.risuai.stages.lore import lore
from tavernkit.risuai.stages.memory import memory
from tavernkit.risuai.stages.parts import parts, run_variables
from tavernkit.risuai.stages.request import plan_assembly, request
from tavernkit.risuai.stages.trimming import trimming
from tavernkit.risuai.story import Story
from tavernkit.risuai.workbench import Workbench
from tavernkit.values import check_fields


def prompt_pipeline() -> Pipeline:
    """The stages of a build; edit the returned pipeline to make your own."""
    return Pipeline(
        [
            ("hooks", hooks),
            ("run_variables", run_variables),
            ("parts", parts),
            ("lore", lore),
            ("card_costs", card_costs),
            ("history", history),
            ("memory", memory),
            ("compilation", compilation),
            ("injections", injections),
            ("before_trimming", before_trimming),
            ("trimming", trimming),
            ("request", request),
            ("plan_assembly", plan_assembly),
        ]
    )


@shows_inputs
def build(
    *, story: Story | None = None, pipeline: Pipeline | None = None, trace: bool = False, **inputs: Unpack[BuildInputs]
) -> Built[RisuResult]:
    """Build the prompt that RisuAI would send.

    The preset is a RisuSettings, or none for RisuAI's defaults. The character is a card, or in `story` one of
    RisuAI's own. Without a model, tokens are counted for the one that the settings name. Raises
    SendingStopped when a trigger wants nothing to be sent, TokenBudgetExceeded when what has to be said does not fit.
    """
    check_kind("story", story, Story)
    check_kind("pipeline", pipeline, Pipeline)
    given = inputs.get("preset")
    settings = RisuSettings() if given is None else unpacked(given, [])
    check_kind("preset", settings, RisuSettings)
    check_fields(settings, "preset")
    inputs["preset"] = settings if given is None else given
    if inputs.get("model") in (None, ""):
        inputs["model"] = settings.model

    card = inputs.get("character")
    if isinstance(card, Bundle) and (story is None or story.character is None):
        own, inputs["character"] = character_of(card)
        story = (story or Story()).with_(character=own)

    def choose(ctx: Context) -> Pipeline:
        if ctx.lore_engine is not None:
            ctx.warn(
                "lore_engine_ignored", "RisuAI's lorebook scans the books of this build: lore_engine has no effect."
            )
        ctx.attach(Workbench(story or Story(), settings))
        return pipeline or prompt_pipeline()

    return build_on(choose, result_of, inputs, trace=trace)
