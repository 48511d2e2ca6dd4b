"""Artifacts as JSON: read once, in camelCase or snake_case, into typed values, and written back.

A word that is none of the allowed ones, or rules that contradict each other, raise InvalidArtifactError: a profile that
means something else than it does would be worse. Fields that nobody knows are noted in the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeVar, get_args

from tavernkit.artifacts.anchors import Anchor, RoleFilter, Selector
from tavernkit.artifacts.artifact import Access, Artifact, Session
from tavernkit.artifacts.axes import Surface, Visibility
from tavernkit.artifacts.choices import one_of
from tavernkit.artifacts.content import ContentType
from tavernkit.artifacts.inclusion import (
    DepthPolicy,
    Format,
    InclusionMode,
    Operation,
    Phase,
    Place,
    PromptInclusion,
    Role,
    SectionStrategy,
    SelectorMode,
    Target,
    VersionSelector,
)
from tavernkit.artifacts.presentation import Presentation, PresentationMode
from tavernkit.artifacts.retention import Retention
from tavernkit.artifacts.version import ArtifactVersion, Writer
from tavernkit.errors import InvalidArtifactError
from tavernkit.reading import LooseObject, ReportBuilder, kind_of
from tavernkit.values import Json, JsonObject

__all__ = [
    "read_artifact",
    "read_inclusion",
    "read_retention",
    "read_version",
    "write_artifact",
    "write_inclusion",
    "write_retention",
    "write_version",
]

T = TypeVar("T", bound=str)

_MOST_SECONDS = 100 * 366 * 24 * 60 * 60
"""A hundred years."""


def read_artifact(source: JsonObject, session: Session, report: ReportBuilder, *, id: str = "") -> Artifact:
    """Read a definition. `id` stands in where the source has none. Reasoning is shown to people unless it says more,
    and what is ephemeral is run_only unless it says otherwise."""
    loose = LooseObject(source, report)
    kind = loose.text("kind", default="any") or "any"
    retention = read_retention(loose.raw("retention", "retentionPolicy", "retentionPolicyJson"), report)
    access = _word(loose, get_args(Access), "access")
    surface = loose.optional_text("uiSurface", "ui_surface", "surface")
    artifact = Artifact(
        id=loose.text("id", default=id) or id,
        session=session,
        tag=loose.optional_text("tag") or None,
        kind=kind,
        access=access or ("run_only" if retention.mode == "ephemeral" else "persisted"),
        visibility=_word(loose, get_args(Visibility), "visibility") or _usual_visibility(kind),
        surface=Surface.parse(surface) if surface else None,
        content_type=_word(loose, get_args(ContentType), "contentType", "content_type") or "text",
        inclusion=read_inclusion(loose.raw("promptInclusion", "prompt_inclusion", "promptInclusionJson"), report),
        retention=retention,
        presentation=_presentation(loose.raw("uiPresentation", "ui_presentation", "uiPresentationJson"), report),
    )
    _note_unknown(loose)
    return artifact


def _usual_visibility(kind: str) -> Visibility:
    return "ui_only" if kind == "reasoning" else "internal"


def write_artifact(artifact: Artifact) -> dict[str, Json]:
    """The definition as `read_artifact` reads it; the session is not part of it."""
    fields: dict[str, Json] = {
        "id": artifact.id,
        "kind": artifact.kind,
        "access": artifact.access,
        "visibility": artifact.visibility,
        "contentType": artifact.content_type,
        "retention": write_retention(artifact.retention),
        "promptInclusion": None if artifact.inclusion is None else write_inclusion(artifact.inclusion),
    }
    if artifact.tag is not None:
        fields["tag"] = artifact.tag
    if artifact.surface is not None:
        fields["uiSurface"] = str(artifact.surface)
    if artifact.presentation is not None:
        fields["uiPresentation"] = {"mode": artifact.presentation.mode}
        if artifact.presentation.max_items is not None:
            fields["uiPresentation"]["maxItems"] = artifact.presentation.max_items
    return fields


def read_inclusion(source: Json, report: ReportBuilder | None = None) -> PromptInclusion | None:
    """Read rules in full or in shorthand; nothing, and the mode none, mean that it is never told to the model."""
    if source is None:
        return None
    loose = LooseObject(_object(source, "promptInclusion"), report or ReportBuilder(), "promptInclusion")
    mode = _word(loose, get_args(InclusionMode), "mode")
    if mode == "none":
        return None
    inclusion = PromptInclusion.of(
        mode=mode,
        operation=_word(loose, get_args(Operation), "operation"),
        target=_word(loose, get_args(Target), "target"),
        anchor=_anchor(loose.raw("anchor"), loose.report, loose.at("anchor")),
        place=_word(loose, get_args(Place), "place"),
        phase=_word(loose, get_args(Phase), "phase"),
        depth_policy=_word(loose, get_args(DepthPolicy), "depthPolicy", "depth_policy") or "strict_drop",
        priority=loose.number("priority"),
        role=_word(loose, get_args(Role), "role"),
        format=_word(loose, get_args(Format), "format"),
        versions=_selector(loose),
        section=loose.optional_text("section"),
        strategy=_word(loose, get_args(SectionStrategy), "strategy") or "replace",
    )
    _note_unknown(loose)
    return inclusion


def write_inclusion(inclusion: PromptInclusion) -> dict[str, Json]:
    """The normal form; what is as usual is left out."""
    fields: dict[str, Json] = {
        "operation": inclusion.operation,
        "target": inclusion.target,
        "phase": inclusion.phase,
        "priority": inclusion.priority,
        "depthPolicy": inclusion.depth_policy,
    }
    for name, value in (
        ("place", inclusion.place),
        ("role", inclusion.role),
        ("format", inclusion.format),
        ("section", inclusion.section),
    ):
        if value is not None:
            fields[name] = value
    if inclusion.anchor is not None:
        fields["anchor"] = str(inclusion.anchor)
    if inclusion.strategy != "replace":
        fields["strategy"] = inclusion.strategy
    selector = inclusion.versions
    if selector.mode != "latest":
        fields["versionSelector"] = "all" if selector.n is None else {"mode": "last_n", "n": selector.n}
    return fields


def read_retention(source: Json, report: ReportBuilder | None = None) -> Retention:
    """Read a policy: `ephemeral`, `windowed`, `durable`, or one of the words overwrite, append and ttl for them."""
    if source is None:
        return Retention()
    fields = {"mode": source} if isinstance(source, str) else _object(source, "retention")
    loose = LooseObject(fields, report or ReportBuilder(), "retention")
    mode = _word(loose, ("ephemeral", "windowed", "durable", "overwrite", "append", "ttl"), "mode", "policy")
    versions = loose.optional_integer("maxVersions", "max_versions")
    turns = loose.optional_integer("maxTurns", "max_turns")
    seconds = loose.optional_number("ttlSeconds", "ttl_seconds", "ttl")
    _note_unknown(loose)
    limited = versions is not None or turns is not None or seconds is not None
    if mode == "overwrite":
        if limited:
            raise InvalidArtifactError("The retention overwrite keeps the latest version only, and takes no limits.")
        return Retention(mode="windowed", max_versions=1)
    if seconds is not None and abs(seconds) > _MOST_SECONDS:
        raise InvalidArtifactError(f"ttlSeconds is at most {_MOST_SECONDS:,}. To keep versions for good, leave it out.")
    ttl = None if seconds is None else timedelta(seconds=seconds)
    if mode == "ttl" and ttl is None:
        raise InvalidArtifactError("A retention by time to live needs ttlSeconds.")
    if mode in (None, "append", "ttl"):
        mode = "windowed" if limited else "durable"
    return Retention(
        mode=one_of(mode, ("ephemeral", "windowed", "durable"), what="retention.mode"),
        max_versions=versions,
        max_turns=turns,
        ttl=ttl,
    )


def write_retention(retention: Retention) -> dict[str, Json]:
    fields: dict[str, Json] = {"mode": retention.mode}
    if retention.max_versions is not None:
        fields["maxVersions"] = retention.max_versions
    if retention.max_turns is not None:
        fields["maxTurns"] = retention.max_turns
    if retention.ttl is not None:
        fields["ttlSeconds"] = retention.ttl.total_seconds()
    return fields


def read_version(source: JsonObject, report: ReportBuilder | None = None) -> ArtifactVersion:
    """Read one version; content is `content`, or the seed's contentJson or contentText by its type."""
    loose = LooseObject(source, report or ReportBuilder())
    content_type: ContentType = _word(loose, get_args(ContentType), "contentType", "content_type") or "text"
    named = ("contentJson", "content_json") if content_type == "json" else ("contentText", "content_text")
    writer = loose.raw("writer")
    made = loose.text("createdAt", "created_at")
    try:
        created_at = datetime.fromisoformat(made)
    except ValueError:
        raise InvalidArtifactError(f"createdAt is {made[:80]!r}, which is no time: write it as in ISO 8601.") from None
    return ArtifactVersion(
        version=loose.integer("version"),
        content=loose.raw("content", *named),
        created_at=created_at,
        content_type=content_type,
        based_on_version=loose.optional_integer("basedOnVersion", "based_on_version"),
        turn=loose.integer("turn"),
        turn_id=loose.optional_text("turnId", "turn_id"),
        variant_id=loose.optional_text("variantId", "variant_id"),
        writer=None if writer is None else _writer(_object(writer, "writer")),
    )


def write_version(version: ArtifactVersion) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "version": version.version,
        "basedOnVersion": version.based_on_version,
        "contentType": version.content_type,
        "content": version.content,
        "createdAt": version.created_at.isoformat(),
        "turn": version.turn,
    }
    if version.turn_id is not None:
        fields["turnId"] = version.turn_id
    if version.variant_id is not None:
        fields["variantId"] = version.variant_id
    if version.writer is not None:
        fields["writer"] = {"pipeline": version.writer.pipeline, "step": version.writer.step}
    return fields


def _writer(source: JsonObject) -> Writer:
    loose = LooseObject(source, ReportBuilder(), "writer")
    return Writer(pipeline=loose.text("pipeline"), step=loose.text("step"))


def _presentation(source: Json, report: ReportBuilder) -> Presentation | None:
    if source is None:
        return None
    loose = LooseObject(_object(source, "uiPresentation"), report, "uiPresentation")
    mode = _word(loose, get_args(PresentationMode), "mode")
    if mode is None:
        raise InvalidArtifactError("uiPresentation needs a mode: latest_only, timeline or diff.")
    presentation = Presentation(mode=mode, max_items=loose.optional_integer("maxItems", "max_items"))
    _note_unknown(loose)
    return presentation


def _anchor(source: Json, report: ReportBuilder, path: str, *, is_base: bool = False) -> Anchor | None:
    if source is None:
        return None
    if isinstance(source, str):
        return Anchor.parse(source)
    loose = LooseObject(_object(source, "anchor"), report, path)
    selector = _word(loose, get_args(Selector), "selector", "type", "kind")
    if selector is None:
        raise InvalidArtifactError("An anchor needs a selector, such as after_last_user.")
    if is_base and selector == "relative_to_anchor":
        raise InvalidArtifactError(
            "relative_to_anchor counts from the anchor of a message, not from another of its kind."
        )
    offset = loose.optional_integer("offset")
    if offset is None and selector.startswith("relative_"):
        raise InvalidArtifactError(f"The anchor {selector} needs an offset, such as -4.")
    anchor = Anchor(
        selector=selector,
        message_id=loose.optional_text("messageId", "message_id", "id"),
        offset=offset or 0,
        role_filter=_word(loose, get_args(RoleFilter), "roleFilter", "role_filter") or "any",
        base=_anchor(loose.raw("anchor", "base"), report, loose.at("anchor"), is_base=True),
    )
    _note_unknown(loose)
    return anchor


def _selector(loose: LooseObject) -> VersionSelector:
    source = loose.raw("versionSelector", "version_selector")
    n = loose.optional_integer("lastN", "last_n")
    if isinstance(source, Mapping):
        inner = LooseObject(source, loose.report, loose.at("versionSelector"))
        source, n = inner.text("mode", "type"), inner.optional_integer("n", "lastN", "last_n")
        _note_unknown(inner)
    if source is None:
        if n is not None:
            raise InvalidArtifactError("lastN belongs to the versionSelector last_n. Say both.")
        return VersionSelector()
    return VersionSelector(mode=one_of(source, get_args(SelectorMode), what=loose.at("versionSelector")), n=n)


def _word(loose: LooseObject, allowed: tuple[T, ...], *keys: str) -> T | None:
    value = loose.raw(*keys)
    return None if value is None else one_of(value, allowed, what=loose.at(keys[0]))


def _object(source: Json, what: str) -> JsonObject:
    if not isinstance(source, Mapping):
        raise InvalidArtifactError(f"{what} must be an object, not {kind_of(source)}.")
    return source


def _note_unknown(loose: LooseObject) -> None:
    for key in loose.rest():
        loose.report.ignored(loose.at(key), "nobody reads this field")
