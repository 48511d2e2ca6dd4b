"""Profiles as JSON: read once, in camelCase or snake_case, with every problem at its place, and written back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar, get_args

from tavernkit.artifacts.artifact import Artifact, Session
from tavernkit.artifacts.choices import one_of
from tavernkit.artifacts.fields import read_artifact, write_artifact
from tavernkit.artifacts.pipelines.problems import Problems
from tavernkit.artifacts.pipelines.profile import (
    Condition,
    Hook,
    Permission,
    Pipeline,
    Profile,
    Step,
    StepArtifact,
    Trigger,
)
from tavernkit.artifacts.pipelines.steps import KINDS, StepBody, StepKind, TemplateStep
from tavernkit.reading import LooseObject, ReportBuilder, kind_of
from tavernkit.values import Json

__all__ = ["NOWHERE", "PERMISSIONS", "decode_profile", "write_profile"]

NOWHERE = Session(owner_id="", session_id="")
"""The session of a definition that stands in a profile."""

PERMISSIONS: tuple[Permission, ...] = ("artifact_write", "state_write", "message_transform")

MOST_STEPS = 200
"""Of a profile, and of the artifacts of one step."""

_LONGEST_ID = 200
_LONGEST_TIMEOUT = 60 * 60
_UNKNOWN = "Nobody reads this field."
_HOOKS: dict[str, Hook] = {"before_main_llm": "before", "after_main_llm": "after"}
# Stands where a definition could not be read, so that the places of the others are right; nothing is wrong with it.
_UNREADABLE = Artifact(id="", session=NOWHERE, access="run_only", content_type="json")
T = TypeVar("T", bound=str)


def decode_profile(source: Json, problems: Problems) -> Profile:
    """Read what can be read; what cannot is told, and left out."""
    if not isinstance(source, Mapping):
        problems.error("", f"A profile is an object, not {kind_of(source)}.")
        return Profile(id="")
    report = ReportBuilder()
    loose = LooseObject(source, report)
    if _is_too_large(source, problems):
        return Profile(id="")
    profile = Profile(
        id=_id(loose, problems, "A profile"),
        version=loose.integer("version", default=1),
        name=loose.text("name"),
        description=loose.text("description"),
        pipelines=tuple(_pipeline(pipeline, problems) for pipeline in _each(loose, "pipelines")),
    )
    _note_unknown(loose, problems)
    _tell(report, problems)
    return profile


def _is_too_large(source: Mapping[str, Json], problems: Problems) -> bool:
    """Checking compares steps with steps, so a profile with very many is not looked into at all."""
    pipelines = [each for each in _listed_in(source, "pipelines") if isinstance(each, Mapping)]
    steps = [step for pipeline in pipelines for step in _listed_in(pipeline, "steps")]
    artifacts = (_listed_in(step, "artifacts") for step in steps if isinstance(step, Mapping))
    if len(pipelines) + len(steps) > MOST_STEPS:
        problems.error("pipelines", f"A profile has at most {MOST_STEPS} pipelines and steps. Divide it.")
        return True
    if max(map(len, artifacts), default=0) > MOST_STEPS:
        problems.error("pipelines", f"A step makes at most {MOST_STEPS} artifacts. Divide it.")
        return True
    return False


def _listed_in(source: Mapping[str, Json], key: str) -> list[Json]:
    found = source.get(key)
    return found if isinstance(found, list) else []


def _pipeline(loose: LooseObject, problems: Problems) -> Pipeline:
    triggers = frozenset(_words(loose, get_args(Trigger), problems, "triggers"))
    if loose.has("triggers") and not triggers:
        problems.warn(loose.at("triggers"), "Without a trigger this pipeline never runs.")
    pipeline = Pipeline(
        id=_id(loose, problems, "A pipeline"),
        name=loose.text("name"),
        enabled=loose.flag("enabled", default=True),
        triggers=triggers if loose.has("triggers") else frozenset({"user_message", "regenerate"}),
        permissions=frozenset(_words(loose, PERMISSIONS, problems, "permissions")),
        steps=tuple(_step(step, problems) for step in _each(loose, "steps")),
    )
    _note_unknown(loose, problems)
    return pipeline


def _step(loose: LooseObject, problems: Problems) -> Step:
    every = loose.integer("everyNTurns", "every_n_turns", default=1)
    if every < 1:
        problems.error(loose.at("everyNTurns"), f"A step runs every 1 or more turns, not every {every}.")
    timeout = loose.number("timeoutSeconds", "timeout_seconds", "timeout", default=60)
    if timeout <= 0:
        problems.error(loose.at("timeoutSeconds"), "A step needs more time than none.")
    elif timeout > _LONGEST_TIMEOUT:
        problems.error(loose.at("timeoutSeconds"), f"A step has at most an hour ({_LONGEST_TIMEOUT} seconds).")
    step = Step(
        id=_id(loose, problems, "A step"),
        body=_body(loose, problems),
        hook=_hook(loose, problems),
        name=loose.text("name"),
        order=loose.integer("order"),
        enabled=loose.flag("enabled", default=True),
        required=loose.flag("required"),
        depends_on=loose.texts("dependsOn", "depends_on"),
        conditions=tuple(_conditions(loose, problems)),
        every_n_turns=max(every, 1),
        timeout=timeout,
        artifacts=tuple(_artifacts(loose, problems)),
    )
    _note_unknown(loose, problems)
    return step


def _body(loose: LooseObject, problems: Problems) -> StepBody:
    word = loose.raw("kind", "type")
    allowed: tuple[StepKind, ...] = get_args(StepKind)
    kind = problems.word(loose.at("kind"), word, allowed, what="The kind of a step", usual="template")
    # What an unknown kind would need is not known either, so nothing more is said about it.
    return KINDS[kind].read(loose, problems) if kind == word else TemplateStep(template="")


def _hook(loose: LooseObject, problems: Problems) -> Hook:
    word = loose.raw("hook")
    allowed: tuple[Hook, ...] = get_args(Hook)
    hook = _HOOKS.get(word, word) if isinstance(word, str) else word
    return problems.word(loose.at("hook"), hook, allowed, what="The hook of a step", usual="before")


def _conditions(loose: LooseObject, problems: Problems) -> Iterator[Condition]:
    for item in loose.objects("runConditions", "run_conditions", "conditions"):
        if not item.text("guard", "step"):
            problems.error(item.at("guard"), "A condition names the guard that decides.")
        yield Condition(guard=item.text("guard", "step"), equals=item.flag("equals", "is", default=True))


def _artifacts(loose: LooseObject, problems: Problems) -> Iterator[StepArtifact]:
    for item in _each(loose, "artifacts"):
        pointer = item.text("pointer")
        if pointer and not pointer.startswith("/"):
            problems.error(item.at("pointer"), "A JSON pointer begins with /, as in /state.")
        definition = {key: value for key, value in item.source.items() if key != "pointer"}
        report = ReportBuilder()
        artifact = _UNREADABLE
        with problems.caught_at(item.path):
            artifact = read_artifact(definition, NOWHERE, report)
        _tell(report, problems, under=item.path)
        yield StepArtifact(artifact=artifact, pointer=pointer)


def _each(loose: LooseObject, key: str) -> Iterator[LooseObject]:
    """Every item, so that places count as they do in the JSON; what is no object is read as an empty one."""
    for place, item in enumerate(loose.items(key)):
        path = f"{loose.at(key)}[{place}]"
        if not isinstance(item, Mapping):
            loose.report.ignored(path, f"expected an object, found {kind_of(item)}")
        yield LooseObject(item if isinstance(item, Mapping) else {}, loose.report, path)


def _id(loose: LooseObject, problems: Problems, what: str) -> str:
    id = loose.text("id").strip()
    if not id:
        problems.error(loose.at("id"), f"{what} needs an id.")
    elif "/" in id:
        problems.error(loose.at("id"), "An id has no '/': it stands between the ids of a pipeline and its step.")
    elif len(id) > _LONGEST_ID or not id.isprintable():
        problems.error(loose.at("id"), f"An id has at most {_LONGEST_ID} letters, and all of them can be seen.")
    return id


def _words(loose: LooseObject, allowed: tuple[T, ...], problems: Problems, key: str) -> Iterator[T]:
    for place, word in enumerate(loose.texts(key)):
        with problems.caught_at(f"{loose.at(key)}[{place}]"):
            yield one_of(word, allowed, what="This")


def _note_unknown(loose: LooseObject, problems: Problems) -> None:
    for key in loose.rest():
        problems.warn(loose.at(key), _UNKNOWN)


def _tell(report: ReportBuilder, problems: Problems, *, under: str = "") -> None:
    """A field of the wrong type would make the profile mean something else than it says; an unknown one does not."""
    for note in report.build("profile").ignored:
        path = f"{under}.{note.path}" if under else note.path
        if note.message.startswith("expected "):
            problems.error(path, f"{note.message[0].upper()}{note.message[1:]}.")
        else:
            problems.warn(path, _UNKNOWN)


def write_profile(profile: Profile) -> dict[str, Json]:
    """The profile as it is read; what is as usual is left out."""
    return {
        "id": profile.id,
        "version": profile.version,
        "name": profile.name,
        "description": profile.description,
        "pipelines": [_write_pipeline(pipeline) for pipeline in profile.pipelines],
    }


def _write_pipeline(pipeline: Pipeline) -> dict[str, Json]:
    return {
        "id": pipeline.id,
        "name": pipeline.name,
        "enabled": pipeline.enabled,
        "triggers": _listed(pipeline.triggers, get_args(Trigger)),
        "permissions": _listed(pipeline.permissions, PERMISSIONS),
        "steps": [_write_step(step) for step in pipeline.steps],
    }


def _listed(words: Iterable[str], order: tuple[str, ...]) -> list[str]:
    return sorted(words, key=order.index)


def _write_step(step: Step) -> dict[str, Json]:
    fields: dict[str, Json] = {"id": step.id, "kind": step.kind, "hook": step.hook}
    usual = Step(id=step.id, body=step.body, hook=step.hook)
    for name, value, default in (
        ("name", step.name, usual.name),
        ("order", step.order, usual.order),
        ("enabled", step.enabled, usual.enabled),
        ("required", step.required, usual.required),
        ("everyNTurns", step.every_n_turns, usual.every_n_turns),
        ("timeoutSeconds", step.timeout, usual.timeout),
    ):
        if value != default:
            fields[name] = value
    if step.depends_on:
        fields["dependsOn"] = list(step.depends_on)
    if step.conditions:
        fields["runConditions"] = [{"guard": rule.guard, "equals": rule.equals} for rule in step.conditions]
    fields.update(step.body.write())
    if step.artifacts:
        fields["artifacts"] = [_write_step_artifact(made) for made in step.artifacts]
    return fields


def _write_step_artifact(made: StepArtifact) -> dict[str, Json]:
    fields = {key: value for key, value in write_artifact(made.artifact).items() if key != "id"}
    return {**fields, "pointer": made.pointer} if made.pointer else fields
