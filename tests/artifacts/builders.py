"""Artifacts for tests, in one line each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Unpack
from uuid import NAMESPACE_OID, uuid5

from tavernkit import BuildHooks, Character, Message, Plan, User, build
from tavernkit.artifacts import (
    Artifact,
    ArtifactRecord,
    ArtifactVersion,
    ArtifactWrite,
    InclusionRules,
    PromptCandidate,
    PromptInclusion,
    Session,
    Writer,
    include_artifacts,
    inclusion_report,
    read_artifact,
    write_artifact,
)
from tavernkit.prompt.build import BuildInputs
from tavernkit.reading import ReportBuilder
from tavernkit.values import Json

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def id_of(name: str) -> str:
    """Always the same id for a name; stores may count on ids being UUIDs."""
    return str(uuid5(NAMESPACE_OID, name))


SESSION = Session(owner_id=id_of("ada"), session_id=id_of("chat-1"))
MIRA, ROBIN = Character(name="Mira"), User(name="Robin")


def artifact(tag: str | None = "mood", **fields: Any) -> Artifact:
    return Artifact(**{"id": f"id-{tag}", "session": SESSION, "tag": tag, **fields})


def inclusion(**rules: Any) -> PromptInclusion:
    """The normal form of these rules."""
    normal = InclusionRules(**rules).normal()
    assert normal is not None
    return normal


def read_field(name: str, value: object) -> Artifact:
    """An artifact whose JSON says this about one field."""
    return read_artifact({"tag": "x", "contentType": "json", name: value}, SESSION, ReportBuilder())


def read_inclusion(value: object) -> PromptInclusion | None:
    return read_field("promptInclusion", value).inclusion


def written(made: Artifact) -> dict[str, Any]:
    """An artifact's JSON."""
    return dict(write_artifact(made))


def version(number: int = 1, content: Json = "calm", **fields: Any) -> ArtifactVersion:
    usual = {"created_at": NOW, "content_type": "text" if isinstance(content, str) else "json"}
    return ArtifactVersion(version=number, content=content, **{**usual, **fields})


def record(*versions: ArtifactVersion, owner: str = "weather", **fields: Any) -> ArtifactRecord:
    content_type = versions[-1].content_type if versions else "text"
    return ArtifactRecord(artifact=artifact(**{"content_type": content_type, **fields}), owner=owner, versions=versions)


def write(content: Json = "calm", base: int | None = None, **fields: Any) -> ArtifactWrite:
    """A write to `mood` by the pipeline `weather`; `tag`, `kind`, … describe the artifact."""
    of_write = {name: fields.pop(name) for name in list(fields) if name in ArtifactWrite.__struct_fields__}
    content_type = "text" if isinstance(content, str) else "json"
    usual = {
        "artifact": artifact(**{"content_type": content_type, **fields}),
        "writer": Writer(pipeline="weather", step="look"),
        "permissions": frozenset({"artifact_write"}),
        "now": NOW,
    }
    return ArtifactWrite(content=content, based_on_version=base, **{**usual, **of_write})


def wanted(
    tag: str, content: Json = "", *, versions: tuple[ArtifactVersion, ...] = (), order: tuple[int, int] = (0, 0),
    about: dict[str, Any] | None = None, **rules: Any,
) -> PromptCandidate:  # fmt: skip
    """A candidate with these rules for the prompt; `about` describes the artifact."""
    told = versions or (version(1, content),)
    fields = {"visibility": "prompt_only", "content_type": told[-1].content_type, **(about or {})}
    return PromptCandidate(artifact=artifact(tag, inclusion=inclusion(**rules), **fields), versions=told, order=order)


def chat(*lines: str) -> list[Message]:
    """`u: …` is the user's, `a: …` the assistant's; every message has its place as its id."""
    roles = {"u": "user", "a": "assistant", "s": "system"}
    return [
        Message(role=roles[line[0]], content=line[3:], metadata={"id": f"m{place}"}) for place, line in enumerate(lines)
    ]


STORY = chat("u: one", "a: two", "u: three", "a: four", "u: five")


def plan_with(*candidates: PromptCandidate, **inputs: Unpack[BuildInputs]) -> Plan:
    hooks = BuildHooks()
    hooks.before_trimming(include_artifacts(candidates))
    usual: BuildInputs = {"character": MIRA, "user": ROBIN, "history": STORY}
    usual.update(inputs)
    usual["hooks"] = hooks
    return build(**usual).plan


def reasons(plan: Plan) -> dict[str, str]:
    return {decision.artifact.partition(".")[2]: decision.reason for decision in inclusion_report(plan).decisions}


def said(plan: Plan) -> list[str]:
    """What is said after the system prompt, in order."""
    contents = [message.content for message in plan.messages]
    return contents[1:]
