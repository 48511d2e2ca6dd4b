"""Whether a profile can be used: every problem with its place, as somebody types."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from tavernkit.artifacts.artifact import is_in_prompt
from tavernkit.artifacts.permissions import check_permission, tag_collisions
from tavernkit.artifacts.pipelines.model_steps import GuardStep
from tavernkit.artifacts.pipelines.planning import dependencies
from tavernkit.artifacts.pipelines.profile import Profile, StepPipeline
from tavernkit.artifacts.pipelines.step import Problems, ProfileProblem, Step, StepArtifact
from tavernkit.artifacts.pipelines.steps import MessageTransformStep, PythonStep
from tavernkit.artifacts.wire import decode
from tavernkit.errors import InvalidProfileError
from tavernkit.reading import kind_of

T = TypeVar("T")

MOST_STEPS = 200
"""Of a profile, and of the artifacts of one step."""

_LONGEST_ID = 200


def check_profile(source: object, *, functions: Container[str] | None = None) -> tuple[ProfileProblem, ...]:
    """Everything that is wrong with a profile's JSON; nothing if it can be used. Never raises.

    With `functions` the names of python steps are checked, too.
    """
    return _read(source, functions)[1]


def read_profile(source: object, *, functions: Container[str] | None = None) -> Profile:
    """The profile, if it can be used; else InvalidProfileError with every problem. Warnings are passed over."""
    profile, problems = _read(source, functions)
    wrong = [problem for problem in problems if problem.severity == "error"]
    if wrong:
        lines = [f"{problem.path or 'profile'}: {problem.message}" for problem in wrong]
        raise InvalidProfileError("\n".join(["This profile cannot be used.", *lines]))
    return profile


def readable_profile(source: object) -> Profile:
    """As much of a profile as can be read, also of one that cannot be used."""
    return _decode(source, Problems())


def _read(source: object, functions: Container[str] | None) -> tuple[Profile, tuple[ProfileProblem, ...]]:
    problems = Problems()
    profile = _decode(source, problems)
    _check_id(profile.id, "id", problems)
    _check_ids(_placed("pipelines", profile.pipelines), problems)
    for path, pipeline in _placed("pipelines", profile.pipelines):
        if not pipeline.triggers:
            problems.warn(f"{path}.triggers", "Without a trigger this pipeline never runs.")
        _check_ids(_placed(f"{path}.steps", pipeline.steps), problems)
        _check_message_transforms(pipeline, path, problems)
        reached = dependencies(pipeline.steps)
        for at, step in _placed(f"{path}.steps", pipeline.steps):
            step.check(problems, at)
            _check_dependencies(step, pipeline, at, problems, reached)
            _check_conditions(step, pipeline, at, problems)
            _check_body(step, pipeline, at, problems, functions)
            for where, made in _placed(f"{at}.artifacts", step.artifacts):
                _check_artifact(made, step, pipeline, where, problems)
    _check_tags(profile, problems)
    return profile, problems.found()


def _decode(source: object, problems: Problems) -> Profile:
    """What can be read; checking compares steps with steps, so a profile with very many is not looked into at all."""
    if not isinstance(source, Mapping):
        problems.error("", f"A profile is an object, not {kind_of(source)}.")
        return Profile(id="profile")
    pipelines = [each for each in _listed(source, "pipelines") if isinstance(each, Mapping)]
    steps = [step for pipeline in pipelines for step in _listed(pipeline, "steps")]
    if len(pipelines) + len(steps) > MOST_STEPS:
        problems.error("pipelines", f"A profile has at most {MOST_STEPS} pipelines and steps. Divide it.")
        return Profile(id="profile")
    if max((len(_listed(step, "artifacts")) for step in steps), default=0) > MOST_STEPS:
        problems.error("pipelines", f"A step makes at most {MOST_STEPS} artifacts. Divide it.")
        return Profile(id="profile")
    return decode(Profile, source, problems)


def _listed(source: object, key: str) -> Sequence[object]:
    found = source.get(key) if isinstance(source, Mapping) else None
    return found if isinstance(found, list) else ()


def _check_id(id: str, path: str, problems: Problems) -> None:
    if "/" in id:
        problems.error(path, "An id has no '/': it stands between the ids of a pipeline and its step.")
    elif len(id) > _LONGEST_ID or (id and not id.isprintable()):
        problems.error(path, f"An id has at most {_LONGEST_ID} letters, and all of them can be seen.")


def _placed(path: str, items: Sequence[T]) -> Iterator[tuple[str, T]]:
    for place, item in enumerate(items):
        yield f"{path}[{place}]", item


def _check_ids(placed: Iterable[tuple[str, StepPipeline | Step]], problems: Problems) -> None:
    seen: dict[str, str] = {}
    for path, item in placed:
        _check_id(item.id, f"{path}.id", problems)
        if item.id and item.id in seen:
            problems.error(f"{path}.id", f"{seen[item.id]} has the id {item.id!r} already. Rename one of them.")
        seen.setdefault(item.id, path)


def _check_message_transforms(pipeline: StepPipeline, path: str, problems: Problems) -> None:
    reached = dependencies(pipeline.steps)
    earlier: list[Step] = []
    for at, step in _placed(f"{path}.steps", pipeline.steps):
        if not isinstance(step, MessageTransformStep) or not step.select:
            continue
        rival = next(
            (other for other in earlier if other.id not in reached[step.id] and step.id not in reached[other.id]), None
        )
        if rival is not None:
            problems.warn(
                at,
                f"{rival.id!r} rewrites the message too, but only one text is sent. Let one depend on the other.",
            )
        earlier.append(step)


def _check_dependencies(
    step: Step, pipeline: StepPipeline, at: str, problems: Problems, reached: Mapping[str, frozenset[str]]
) -> None:
    hooks = {other.id: other.hook for other in pipeline.steps}
    for where, need in _placed(f"{at}.dependsOn", step.depends_on):
        if need not in hooks:
            problems.error(where, f"There is no step {need[:80]!r} in this pipeline.")
        elif hooks[need] != step.hook:
            problems.error(
                where,
                f"{need!r} runs {hooks[need]} the main call and this step {step.hook} it. "
                "Steps depend on steps of the same hook; across the call they read artifacts.",
            )
    if step.id in reached[step.id]:
        problems.error(f"{at}.dependsOn", f"{step.id!r} depends on itself, through {_circle(step, reached)}.")


def _circle(step: Step, reached: Mapping[str, frozenset[str]]) -> str:
    members = sorted(id for id in reached[step.id] if step.id in reached.get(id, ()) and id != step.id)
    return ", ".join(members) if members else "nothing else"


def _check_conditions(step: Step, pipeline: StepPipeline, at: str, problems: Problems) -> None:
    guards = {other.id for other in pipeline.steps if isinstance(other, GuardStep)}
    for where, condition in _placed(f"{at}.runConditions", step.conditions):
        if condition.guard and condition.guard not in guards:
            problems.error(where, f"{condition.guard[:80]!r} is no guard of this pipeline, so it decides nothing.")
        elif condition.guard and condition.guard not in step.depends_on:
            problems.error(where, f"The guard {condition.guard!r} must be in dependsOn, to have decided in time.")


def _check_body(
    step: Step, pipeline: StepPipeline, at: str, problems: Problems, functions: Container[str] | None
) -> None:
    if isinstance(step, GuardStep) and step.artifacts:
        problems.error(f"{at}.artifacts", "A guard says yes or no to other steps and makes no artifact.")
    if isinstance(step, MessageTransformStep):
        if step.hook != "before":
            problems.error(f"{at}.hook", "The user's message can only be changed before the main call.")
        if "message_transform" not in pipeline.permissions:
            problems.error(f"{at}.kind", "The pipeline needs the permission message_transform for this step.")
    if isinstance(step, PythonStep) and functions is not None and step.function not in functions:
        problems.error(f"{at}.function", f"No step function named {step.function[:80]!r} is registered.")


def _check_artifact(made: StepArtifact, step: Step, pipeline: StepPipeline, at: str, problems: Problems) -> None:
    inclusion = made.inclusion
    if made.pointer and not made.pointer.startswith("/"):
        problems.error(f"{at}.pointer", "A JSON pointer begins with /, as in /state.")
    if made.access == "persisted" and made.tag is not None:
        with problems.caught_at(at):
            check_permission(pipeline.write_permissions, tag=made.tag, kind=made.kind)
    if made.pointer and step.makes == "text":
        problems.error(f"{at}.pointer", "A pointer finds something in JSON, and this step makes a text.")
    if made.content_type != "json" and step.makes == "json" and not made.pointer and step.kind != "python":
        problems.error(f"{at}.contentType", "This step makes JSON. Say contentType json.")
    if inclusion is None:
        return
    where = f"{at}.promptInclusion"
    if step.hook == "after" and made.access == "run_only":
        problems.error(
            where,
            "This is made after the main call and gone before the next one, so no prompt can hold it. "
            "Keep it (access persisted), or move the step before the call.",
        )
    if not is_in_prompt(made.visibility):
        problems.warn(where, f"Never in the prompt: the visibility {made.visibility} hides it from the model.")
    if inclusion.role == "user" and not isinstance(step, MessageTransformStep):
        problems.warn(where, "The model would take this for the user's own words. The usual role is developer.")


def _check_tags(profile: Profile, problems: Problems) -> None:
    places: dict[tuple[str, str, str], list[str]] = {}
    for path, pipeline in _placed("pipelines", profile.pipelines):
        for at, step in _placed(f"{path}.steps", pipeline.steps):
            for where, made in _placed(f"{at}.artifacts", step.artifacts):
                if made.access == "persisted" and made.tag is not None:
                    places.setdefault((made.tag, pipeline.id, step.id), []).append(f"{where}.tag")
    for collision in tag_collisions(profile.claims()):
        paths = {where for claim in collision.claims for where in places[(claim.tag, claim.pipeline, claim.step)]}
        for where in sorted(paths):
            problems.error(where, str(collision))
