"""What a person does with profiles. An edit adds a version, so that what a run has followed is never lost.

Profiles come also from elsewhere: from another profile, from a file, from the examples, of which one can be added to
what is followed at a place, so that both are followed there.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from uuid import UUID

from anyio import to_thread
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.permissions import tag_collisions
from tavernkit.artifacts.pipelines import EXAMPLES, Profile, check_profile, example_profile, example_source
from tavernkit.errors import ParseError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.base import advance
from tavernkit.playground.base.database.models import (
    Conversation,
    PipelineChoice,
    PipelineProfile,
    PipelineProfileVersion,
    Space,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused, not_found, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.pipelines.checking import (
    MAX_CONTENT_CHARACTERS,
    checked_content,
    profile_of,
    readable_part,
)
from tavernkit.playground.story.pipelines.choosing import follow, place_columns, require_free_tags, require_may_choose
from tavernkit.playground.story.pipelines.documents import (
    AddExample,
    NewProfile,
    PatchProfile,
    ProfileOut,
    ProfilePlace,
)
from tavernkit.playground.story.pipelines.queries import (
    choice_at,
    choices_count,
    free_name,
    is_name_taken,
    own_profiles_named,
    profile_for,
    read_profile_choices,
    version_of,
)
from tavernkit.playground.story.retention import time_in_trash
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.values import Json, JsonObject

NAMELESS = "Profile"
LONGEST_DESCRIPTION = 2000


async def create_profile(
    runtime: Runtime, viewer: Viewer, new: NewProfile
) -> tuple[PipelineProfile, PipelineProfileVersion]:
    """A profile of one's own, in its first version."""
    name = titled(new.name, NAMELESS)
    content = await checked_content(new.content)
    async with runtime.database.write() as session:
        if await is_name_taken(session, viewer.user_id, name):
            raise _taken(name)
        return await add_profile(session, runtime, viewer, name, new.description, content)


async def add_profile(
    session: AsyncSession, runtime: Runtime, viewer: Viewer, name: str, description: str, content: JsonObject
) -> tuple[PipelineProfile, PipelineProfileVersion]:
    """Write a profile of the person's own, with a name that is free and a content that was checked."""
    now = runtime.clock()
    profile = PipelineProfile(
        id=runtime.ids(),
        owner_id=viewer.user_id,
        name=name,
        description=storable(description)[:LONGEST_DESCRIPTION],
        settings_version=1,
        created_at=now,
        updated_at=now,
    )
    session.add(profile)
    await session.flush()
    return profile, add_version(session, profile, content, now)


def add_version(
    session: AsyncSession, profile: PipelineProfile, content: JsonObject, now: datetime
) -> PipelineProfileVersion:
    """Keep what a profile has become, under the number that it has by now."""
    version = PipelineProfileVersion(
        profile_id=profile.id, version=profile.settings_version, content=dict(content), created_at=now
    )
    session.add(version)
    return version


async def edit_profile(
    runtime: Runtime, viewer: Viewer, profile_id: UUID, patch: PatchProfile
) -> tuple[PipelineProfile, PipelineProfileVersion]:
    """Rename a profile, describe it, give it other pipelines: its next version."""
    now = runtime.clock()
    content = None if patch.content is None else await checked_content(patch.content)
    async with runtime.database.write() as session:
        profile = await _to_change(session, viewer, profile_id)
        before = await version_of(session, profile)
        name = profile.name if patch.name is None else titled(patch.name, NAMELESS)
        if name != profile.name and await is_name_taken(session, profile.owner_id, name):
            raise _taken(name)
        if content is not None:
            await require_free_tags(session, profile, readable_part(profile, content))
        advance(profile, patch.settings_version, what=_("profile"), current=ProfileOut.with_content(profile, before))
        profile.name, profile.updated_at = name, now
        if patch.description is not None:
            profile.description = storable(patch.description)
        return profile, add_version(session, profile, before.content if content is None else content, now)


async def delete_profile(runtime: Runtime, viewer: Viewer, profile_id: UUID) -> None:
    """Move a profile that is followed nowhere to the trash; what it has made in conversations stays."""
    async with runtime.database.write() as session:
        profile = await _to_change(session, viewer, profile_id)
        places = await choices_count(session, profile.id)
        if places:
            sentence = ngettext(
                "The profile is enabled in {count} place. Disable it there first.",
                "The profile is enabled in {count} places. Disable it there first.",
                places,
            )
            raise Refused("conflict", sentence)
        # Places that are in the trash follow it no more when they come back.
        await session.execute(delete(PipelineChoice).where(PipelineChoice.profile_id == profile.id))
        profile.trashed_at = await time_in_trash(session, runtime, viewer)


async def _to_change(session: AsyncSession, viewer: Viewer, profile_id: UUID) -> PipelineProfile:
    profile = await profile_for(session, viewer, profile_id, lock=True)
    if profile.owner_id is None and not viewer.is_administrator:
        raise Refused("forbidden", _("This profile is shared. Only administrators can change it."))
    return profile


def _taken(name: str) -> Refused:
    return Refused("taken", _("A profile named “{name}” already exists. Choose another name.", name=name))


MAX_FILE_BYTES = 8 * MAX_CONTENT_CHARACTERS


async def duplicate_profile(runtime: Runtime, viewer: Viewer, profile_id: UUID) -> PipelineProfile:
    """A copy of one's own."""
    async with runtime.database.read() as session:
        profile = await profile_for(session, viewer, profile_id)
        content = (await version_of(session, profile)).content
    return await _add_copy(runtime, viewer, f"{profile.name[:190]} (copy)", profile.description, content)


async def import_profile(
    runtime: Runtime, viewer: Viewer, file: bytes, *, name: str = ""
) -> tuple[PipelineProfile, ImportReport]:
    """A profile from a file; `name` is for one whose file gives none."""
    try:
        source: Json = await to_thread.run_sync(lambda: parse_json(file, what="The file", max_bytes=MAX_FILE_BYTES))
    except ParseError as error:
        raise Refused("invalid", _("The file cannot be read. {reason}", reason=str(error))) from None
    if not isinstance(source, dict):
        raise Refused("invalid", _("The file is not a profile: it does not contain a JSON object."))
    if "pipelines" not in source:
        raise Refused("invalid", _("The file is not a profile: it contains no pipelines."))
    content = await checked_content(source)
    title, description = source.get("name"), source.get("description")
    profile = await _add_copy(
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
        raise not_found(_("example"))
    profile, source = example_in_full(example)
    content = await checked_content(source)
    async with runtime.database.write() as session:
        await require_may_choose(session, viewer, place, changing=True)
        own = await own_profiles_named(session, viewer, [profile.name])
        if own:
            copy = own[0]
        else:
            copy, _content = await add_profile(session, runtime, viewer, profile.name, profile.description, content)
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


async def _add_copy(
    runtime: Runtime, viewer: Viewer, name: str, description: str, content: JsonObject
) -> PipelineProfile:
    async with runtime.database.write() as session:
        free = await free_name(session, viewer.user_id, name)
        profile, _content = await add_profile(session, runtime, viewer, free, description, content)
        return profile


def _report(content: JsonObject) -> ImportReport:
    report = ReportBuilder()
    for problem in check_profile({**content, "id": "profile"}):
        report.ignored(problem.path, problem.message)
    return report.build("profile")


LONGEST_FIRST_NAME = 150

Written = tuple[PipelineProfile, PipelineProfileVersion]


async def add_example(runtime: Runtime, viewer: Viewer, new: AddExample) -> Written:
    """Follow an example at a place beside what is followed there already.

    Where that is the person's own and followed nowhere else, it becomes its next version; otherwise the two become a
    new profile of theirs, and what others and other places follow stays as it is. All of it is done or nothing.
    """
    if new.example not in EXAMPLES:
        raise not_found(_("example"))
    async with runtime.database.write() as session:
        return await _add_beside(session, runtime, viewer, new)


def examples_in(profile: Profile) -> tuple[str, ...]:
    """The keys of the examples whose pipelines a profile holds, in their order there."""
    ids = [pipeline.id for pipeline in profile.pipelines]
    firsts = {key: [pipeline.id for pipeline in example_in_full(key)[0].pipelines] for key in EXAMPLES}
    held = [key for key, needed in firsts.items() if all(id in ids for id in needed)]
    return tuple(sorted(held, key=lambda key: ids.index(firsts[key][0])))


async def _add_beside(session: AsyncSession, runtime: Runtime, viewer: Viewer, new: AddExample) -> Written:
    await profile_for(session, viewer, new.profile_id)
    await require_may_choose(session, viewer, new, changing=True)
    profile = await _followed_as_seen(session, viewer, new)
    before = await version_of(session, profile)
    usable = profile_of(profile, before.content)
    content = await _joined(usable, before.content, new.example)
    example = example_in_full(new.example)[0].name
    name = f"{profile.name[:LONGEST_FIRST_NAME]} + {example}"
    description = f"“{profile.name}” and “{example}” together."
    if await _is_ones_own_alone(session, viewer, new, profile):
        held = " + ".join(example_in_full(key)[0].name for key in examples_in(usable))
        if profile.name == held:
            # A name that says which examples there are would no longer be true; one that somebody has given it stays.
            profile.name = await free_name(session, viewer.user_id, name)
            profile.description = description
        profile.settings_version += 1
        profile.updated_at = now = runtime.clock()
        written = profile, add_version(session, profile, content, now)
        await session.flush()
    else:
        free = await free_name(session, viewer.user_id, name)
        written = await add_profile(session, runtime, viewer, free, description, content)
    await follow(session, runtime, viewer, new, written[0])
    return written


async def _followed_as_seen(session: AsyncSession, viewer: Viewer, new: AddExample) -> PipelineProfile:
    """The profile that the example is added to, under its lock, if it is still what is followed at the place."""
    choice = await _in_force(session, viewer, new)
    if choice is None or choice.profile_id is None:
        raise Refused("conflict", _("No profile is enabled there. Enable the example instead."))
    try:
        profile = await profile_for(session, viewer, choice.profile_id, lock=True)
    except Refused:
        sentence = _("Another user's profile is enabled there now. Reload the page.")
        raise Refused("conflict", sentence) from None
    if (profile.id, profile.settings_version) != (new.profile_id, new.settings_version):
        current = ProfileOut.with_content(profile, await version_of(session, profile))
        raise stale(_("profile"), current)
    return profile


async def _in_force(session: AsyncSession, viewer: Viewer, place: ProfilePlace) -> PipelineChoice | None:
    """The choice that counts at a place, be it a wider one."""
    if place.conversation_id is not None:
        conversation = await session.get_one(Conversation, place.conversation_id)
        space = await session.get_one(Space, conversation.space_id)
        decisions = (await read_profile_choices(session, conversation, space)).decisions()
        if len(decisions) > 1:
            sentence = _("The profile there depends on who speaks. Choose one profile for the conversation first.")
            raise Refused("conflict", sentence)
        return decisions[0][1]
    here = await choice_at(session, place_columns(viewer, place))
    if here is None and place.space_id is not None:
        return await choice_at(session, {"user_id": (await session.get_one(Space, place.space_id)).owner_id})
    return here


async def _joined(profile: Profile, content: JsonObject, key: str) -> dict[str, Json]:
    """The content with the example's pipelines behind its own, unless the two cannot be in one profile."""
    example, source = example_in_full(key)
    names = {"example": example.name, "profile": shown_name(profile.name)}
    own = {pipeline.id: pipeline for pipeline in profile.pipelines}
    for pipeline in example.pipelines:
        if pipeline.id not in own:
            continue
        rival = own[pipeline.id]
        if {step.id for step in rival.steps} & {step.id for step in pipeline.steps}:
            sentence = _("“{profile}” already contains “{example}”.", **names)
        else:
            sentence = _(
                "“{example}” was not added to “{profile}”: both have a pipeline with the id “{id}”. "
                "Rename the one in your profile.",
                id=pipeline.id,
                **names,
            )
        raise Refused("conflict", sentence)
    collisions = tag_collisions((*profile.claims(), *example.claims()))
    if collisions:
        reason = " ".join(map(str, collisions))
        raise Refused("conflict", _("“{example}” was not added to “{profile}”: {reason}", reason=reason, **names))
    return await checked_content({**content, "pipelines": [*_pipelines(content), *_pipelines(source)]})


def _pipelines(content: JsonObject) -> list[Json]:
    return LooseObject(content, ReportBuilder()).items("pipelines")


async def _is_ones_own_alone(
    session: AsyncSession, viewer: Viewer, place: ProfilePlace, profile: PipelineProfile
) -> bool:
    """Whether the profile is the person's, and followed at this place and at no other."""
    here = await choice_at(session, place_columns(viewer, place))
    if profile.owner_id != viewer.user_id or here is None or here.profile_id != profile.id:
        return False
    return await choices_count(session, profile.id) == 1
