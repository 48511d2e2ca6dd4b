"""A profile in plain words: what its steps do, when, and where what they make is seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tavernkit.artifacts.artifact import ArtifactDefinition, SurfacePlace, Visibility, is_in_prompt, is_on_page
from tavernkit.artifacts.pipelines import GuardStep, LlmStep, Profile, Step, StepPipeline
from tavernkit.artifacts.pipelines.profile import PipelineTrigger
from tavernkit.artifacts.pipelines.step import Hook
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, translated
from tavernkit.playground.base.storable import storable
from tavernkit.values import Value

KINDS: Final[Mapping[str, str]] = {
    "template": _("renders a template"),
    "llm": _("sends a prompt to a model"),
    "transform": _("transforms a text or a value"),
    "message_transform": _("rewrites the user's message"),
    "guard": _("checks a condition"),
    "python": _("calls a Python function"),
}
OF_AN_EXTENSION: Final = _("runs a step of an extension")
HOOKS: Final[Mapping[Hook, str]] = {"before": _("Before the reply"), "after": _("After the reply")}
TRIGGERS: Final[Mapping[PipelineTrigger, str]] = {
    "user_message": _("new reply"),
    "regenerate": _("regenerated reply"),
    "manual": _("manual run"),
    "api": _("API request"),
}
VISIBILITIES: Final[Mapping[Visibility, str]] = {
    "prompt_and_ui": _("shown on the page, included in the prompt"),
    "ui_only": _("shown on the page, not in the prompt"),
    "prompt_only": _("included in the prompt, not shown"),
    "internal": _("for other steps only"),
}
SURFACES: Final[Mapping[SurfacePlace, str]] = {
    "panel": _("in the side panel"),
    "feed": _("in a feed beside the chat"),
    "overlay": _("over the chat"),
    "chat_history": _("in the chat"),
    "internal": _("not on the page"),
}
SHOWN: Final[Mapping[SurfacePlace, str]] = {
    "panel": _("Shown in the side panel"),
    "feed": _("Shown in a feed beside the chat"),
    "overlay": _("Shown over the chat"),
    "chat_history": _("Shown in the chat"),
}


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
    before, after = (sum(_asks(step) for step in _steps(profile) if step.hook == hook) for hook in ("before", "after"))
    if before:
        yield ngettext("{count} model call before each reply", "{count} model calls before each reply", before)
    if after:
        yield ngettext("{count} model call after each reply", "{count} model calls after each reply", after)


def _fates(profile: Profile) -> Iterator[str]:
    made = [artifact for step in _steps(profile) for artifact in step.artifacts]
    seen = {artifact.surface.place for artifact in made if artifact.surface and is_on_page(artifact.visibility)}
    yield from (sentence for place, sentence in SHOWN.items() if place in seen)
    included = [artifact for artifact in made if artifact.inclusion is not None and is_in_prompt(artifact.visibility)]
    if included:
        lasts = any(artifact.access == "persisted" for artifact in included)
        yield _("Included in every prompt") if lasts else _("Included in the prompt of one reply")
    else:
        yield _("Not included in prompts")


def _steps(profile: Profile) -> list[Step]:
    return [step for pipeline in profile.pipelines if pipeline.enabled for step in pipeline.steps if step.enabled]


def _asks(step: Step) -> bool:
    return isinstance(step, LlmStep) or (isinstance(step, GuardStep) and step.engine == "llm")


def _pipeline(pipeline: StepPipeline) -> PipelineOutline:
    triggers = ", ".join(translated(words) for trigger, words in TRIGGERS.items() if trigger in pipeline.triggers)
    return PipelineOutline(
        name=storable(pipeline.name or pipeline.id or "") or _("No id"),
        enabled=pipeline.enabled,
        triggers=triggers or _("never"),
        permissions=", ".join(sorted(pipeline.permissions)),
        steps=tuple(_step(step) for step in sorted(pipeline.steps, key=lambda step: step.hook == "after")),
    )


def _step(step: Step) -> StepOutline:
    return StepOutline(
        name=storable(step.name or step.id or "") or _("No id"),
        kind=step.kind,
        does=KINDS.get(step.kind, OF_AN_EXTENSION),
        hook=HOOKS[step.hook],
        enabled=step.enabled,
        conditions=tuple(_conditions(step)),
        artifacts=tuple(_artifact(made) for made in step.artifacts),
    )


def _conditions(step: Step) -> Iterator[str]:
    if step.depends_on:
        yield _("after {steps}", steps=storable(", ".join(step.depends_on)))
    for condition in step.conditions:
        guard = storable(condition.guard)
        yield (
            _("only if {guard} is true", guard=guard)
            if condition.equals
            else _("only if {guard} is false", guard=guard)
        )
    if step.every_n_turns > 1:
        yield ngettext("every {count} turn", "every {count} turns", step.every_n_turns)
    if step.required:
        yield _("required")


def _artifact(artifact: ArtifactDefinition) -> ArtifactOutline:
    return ArtifactOutline(
        name=artifact.name if artifact.tag is not None else _("no tag"),
        visibility=VISIBILITIES[artifact.visibility],
        surface="" if artifact.surface is None else str(artifact.surface),
        place="" if artifact.surface is None else SURFACES[artifact.surface.place],
    )
