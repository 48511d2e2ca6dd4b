"""A profile in plain words: what its steps do, when, and where what they make is seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tavernkit.artifacts.artifact import ArtifactDefinition, SurfacePlace, Visibility, is_in_prompt, is_on_page
from tavernkit.artifacts.pipelines import GuardStep, LlmStep, Profile, Step, StepPipeline
from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.artifacts.pipelines.step import Hook
from tavernkit.playground.base.storable import storable
from tavernkit.values import Value

KINDS: Final[Mapping[str, str]] = {
    "template": "writes from a template",
    "llm": "asks a model",
    "transform": "changes a text or a value",
    "message_transform": "puts the user's message in other words",
    "guard": "decides yes or no",
    "python": "calls a function",
}
OF_AN_EXTENSION: Final = "runs a step of an extension"
HOOKS: Final[Mapping[Hook, str]] = {"before": "before the reply", "after": "after the reply"}
TRIGGERS: Final[Mapping[PipelineTrigger, str]] = {
    "user_message": "a new reply",
    "regenerate": "a reply told anew",
    "manual": "by hand",
    "api": "by a program",
}
VISIBILITIES: Final[Mapping[Visibility, str]] = {
    "prompt_and_ui": "seen by people, told to the model",
    "ui_only": "seen by people, never told to the model",
    "prompt_only": "told to the model, seen by nobody",
    "internal": "for other steps only",
}
SURFACES: Final[Mapping[SurfacePlace, str]] = {
    "panel": "in the side panel",
    "feed": "in a feed beside the chat",
    "overlay": "over the chat",
    "chat_history": "in the chat",
    "internal": "nowhere on the page",
}
TIMES: Final = ("", "once", "twice")


class ArtifactOutline(Value, frozen=True, kw_only=True):
    """Something that a step makes: its name, who sees it, and where."""

    name: str
    visibility: str
    surface: str
    place: str


class StepOutline(Value, frozen=True, kw_only=True):
    """A step; `conditions` say when it runs at all."""

    name: str
    kind: str
    does: str
    hook: str
    enabled: bool
    conditions: tuple[str, ...]
    artifacts: tuple[ArtifactOutline, ...]


class PipelineOutline(Value, frozen=True, kw_only=True):
    """A pipeline with its steps: those before the reply first, else as they were written."""

    name: str
    enabled: bool
    triggers: str
    permissions: str
    steps: tuple[StepOutline, ...]


def outline(profile: Profile) -> tuple[PipelineOutline, ...]:
    """The profile as far as it can be read."""
    return tuple(_pipeline(pipeline) for pipeline in profile.pipelines)


def in_words(profile: Profile) -> tuple[str, ...]:
    """What following the profile means: how often a model is asked, and what becomes of the answers."""
    return (*_questions(profile), *_fates(profile))


def _questions(profile: Profile) -> Iterator[str]:
    for hook in ("before", "after"):
        asked = sum(_asks(step) for step in _steps(profile) if step.hook == hook)
        if asked:
            times = TIMES[asked] if asked < len(TIMES) else f"{asked} times"
            yield f"Asks the model {times} {hook} each reply"


def _fates(profile: Profile) -> Iterator[str]:
    made = [artifact for step in _steps(profile) for artifact in step.artifacts]
    seen = {artifact.surface.place for artifact in made if artifact.surface and is_on_page(artifact.visibility)}
    yield from (f"Shown {words}" for place, words in SURFACES.items() if place in seen and place != "internal")
    included = [artifact for artifact in made if artifact.inclusion is not None and is_in_prompt(artifact.visibility)]
    if included:
        lasts = any(artifact.access == "persisted" for artifact in included)
        yield "Told to the model with each message" if lasts else "Told to the model for one reply, then gone"
    else:
        yield "Never told to the model"


def _steps(profile: Profile) -> list[Step]:
    return [step for pipeline in profile.pipelines if pipeline.enabled for step in pipeline.steps if step.enabled]


def _asks(step: Step) -> bool:
    return isinstance(step, LlmStep) or (isinstance(step, GuardStep) and step.engine == "llm")


def _pipeline(pipeline: StepPipeline) -> PipelineOutline:
    triggers = ", ".join(words for trigger, words in TRIGGERS.items() if trigger in pipeline.triggers)
    return PipelineOutline(
        name=storable(pipeline.name or pipeline.id or "Without an id"),
        enabled=pipeline.enabled,
        triggers=triggers or "never",
        permissions=", ".join(sorted(pipeline.permissions)),
        steps=tuple(_step(step) for step in sorted(pipeline.steps, key=lambda step: step.hook == "after")),
    )


def _step(step: Step) -> StepOutline:
    return StepOutline(
        name=storable(step.name or step.id or "Without an id"),
        kind=step.kind,
        does=KINDS.get(step.kind, OF_AN_EXTENSION),
        hook=HOOKS[step.hook],
        enabled=step.enabled,
        conditions=tuple(storable(words) for words in _conditions(step)),
        artifacts=tuple(_artifact(made) for made in step.artifacts),
    )


def _conditions(step: Step) -> Iterator[str]:
    if step.depends_on:
        yield f"when {' and '.join(step.depends_on)} {'is' if len(step.depends_on) == 1 else 'are'} done"
    for condition in step.conditions:
        yield f"only if {condition.guard} says {'yes' if condition.equals else 'no'}"
    if step.every_n_turns > 1:
        yield f"every {step.every_n_turns} turns"
    if step.required:
        yield "required"


def _artifact(artifact: ArtifactDefinition) -> ArtifactOutline:
    return ArtifactOutline(
        name=artifact.name if artifact.tag is not None else "without a tag",
        visibility=VISIBILITIES[artifact.visibility],
        surface="" if artifact.surface is None else str(artifact.surface),
        place="" if artifact.surface is None else SURFACES[artifact.surface.place],
    )
