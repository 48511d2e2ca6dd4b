"""Profiles that come from elsewhere: from another profile, from a file, from the examples."""

from __future__ import annotations

from functools import cache
from uuid import UUID

from anyio import to_thread

from tavernkit.artifacts.pipelines import EXAMPLES, Profile, check_profile, example_profile, example_source
from tavernkit.errors import ParseError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import PipelineProfile
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import titled
from tavernkit.playground.story.pipelines.choosing import follow, require_may_choose
from tavernkit.playground.story.pipelines.documents import ProfilePlace
from tavernkit.playground.story.pipelines.queries import free_name, own_profiles_named, profile_for, version_of
from tavernkit.playground.story.pipelines.reading import MAX_CONTENT_CHARACTERS, checked_content
from tavernkit.playground.story.pipelines.service import NAMELESS, add_profile
from tavernkit.reading import ImportReport, ReportBuilder, kind_of, parse_json
from tavernkit.values import Json, JsonObject

MAX_FILE_BYTES = 8 * MAX_CONTENT_CHARACTERS


async def duplicate_profile(runtime: Runtime, viewer: Viewer, profile_id: UUID) -> PipelineProfile:
    """A copy of one's own."""
    async with runtime.database.read() as session:
        profile = await profile_for(session, viewer, profile_id)
        content = (await version_of(session, profile)).content
    return await _add(runtime, viewer, f"{profile.name[:190]} (copy)", profile.description, content)


async def import_profile(
    runtime: Runtime, viewer: Viewer, file: bytes, *, name: str = ""
) -> tuple[PipelineProfile, ImportReport]:
    """A profile from a file; `name` is for one whose file gives none."""
    try:
        source: Json = await to_thread.run_sync(lambda: parse_json(file, what="The file", max_bytes=MAX_FILE_BYTES))
    except ParseError as error:
        raise Refused(code="invalid", sentence=str(error)) from None
    if not isinstance(source, dict):
        raise Refused(code="invalid", sentence=f"A profile is an object, and the file holds {kind_of(source)}.")
    if "pipelines" not in source:
        raise Refused(code="invalid", sentence="There are no pipelines in the file. It is no profile.")
    content = await checked_content(source)
    title, description = source.get("name"), source.get("description")
    profile = await _add(
        runtime,
        viewer,
        titled(title if isinstance(title, str) else "", titled(name, NAMELESS)),
        description if isinstance(description, str) else "",
        content,
    )
    return profile, await to_thread.run_sync(_report, content)


async def switch_on_example(runtime: Runtime, viewer: Viewer, example: str, place: ProfilePlace) -> PipelineProfile:
    """Follow an example at a place: one's own profile of its name, or else a copy of the example."""
    if example not in EXAMPLES:
        raise not_found("example")
    profile, source = example_in_full(example)
    content = await checked_content(source)
    async with runtime.database.write() as session:
        await require_may_choose(session, viewer, place, changing=True)
        own = await own_profiles_named(session, viewer, [profile.name])
        if own:
            copy = own[0]
        else:
            copy, _ = await add_profile(session, runtime, viewer, profile.name, profile.description, content)
        await follow(session, runtime, viewer, place, copy)
        return copy


def exported(profile: PipelineProfile, content: JsonObject) -> dict[str, Json]:
    """The profile as a file that can be imported again, and read by the library."""
    own: dict[str, Json] = {
        "id": str(profile.id),
        "version": profile.settings_version,
        "name": profile.name,
        "description": profile.description,
    }
    return {**own, **content}


@cache
def example_in_full(id: str) -> tuple[Profile, JsonObject]:
    """One of the examples, and its JSON."""
    return example_profile(id), example_source(id)


async def _add(runtime: Runtime, viewer: Viewer, name: str, description: str, content: JsonObject) -> PipelineProfile:
    async with runtime.database.write() as session:
        free = await free_name(session, viewer.user_id, name)
        profile, _ = await add_profile(session, runtime, viewer, free, description, content)
        return profile


def _report(content: JsonObject) -> ImportReport:
    report = ReportBuilder()
    for problem in check_profile({**content, "id": "profile"}):
        report.ignored(problem.path, problem.message)
    return report.build("profile")
