"""Adding an example to what is followed at a place, so that both are followed there."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.permissions import tag_collisions
from tavernkit.artifacts.pipelines import EXAMPLES, Profile
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Conversation,
    PipelineChoice,
    PipelineProfile,
    PipelineProfileVersion,
    Space,
)
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused, not_found, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.pipelines.choosing import follow, place_columns, require_may_choose
from tavernkit.playground.story.pipelines.conversation_choices import read_profile_choices
from tavernkit.playground.story.pipelines.copies import example_in_full
from tavernkit.playground.story.pipelines.documents import AddExample, ProfileOut, ProfilePlace
from tavernkit.playground.story.pipelines.queries import choice_at, choices_count, free_name, profile_for, version_of
from tavernkit.playground.story.pipelines.reading import checked_content, profile_of
from tavernkit.playground.story.pipelines.service import add_profile, add_version
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject

LONGEST_FIRST_NAME = 150

Written = tuple[PipelineProfile, PipelineProfileVersion]


async def add_example(runtime: Runtime, viewer: Viewer, new: AddExample) -> Written:
    """Follow an example at a place beside what is followed there already.

    Where that is the person's own and followed nowhere else, it becomes its next version; otherwise the two become a
    new profile of theirs, and what others and other places follow stays as it is. All of it is done or nothing.
    """
    if new.example not in EXAMPLES:
        raise not_found("example")
    async with runtime.database.write() as session:
        return await _add(session, runtime, viewer, new)


def examples_in(profile: Profile) -> tuple[str, ...]:
    """The keys of the examples whose pipelines a profile holds, in their order there."""
    ids = [pipeline.id for pipeline in profile.pipelines]
    firsts = {key: [pipeline.id for pipeline in example_in_full(key)[0].pipelines] for key in EXAMPLES}
    held = [key for key, needed in firsts.items() if all(id in ids for id in needed)]
    return tuple(sorted(held, key=lambda key: ids.index(firsts[key][0])))


async def _add(session: AsyncSession, runtime: Runtime, viewer: Viewer, new: AddExample) -> Written:
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
        raise Refused(code="conflict", sentence="Nothing is followed there. Switch the example on instead.")
    try:
        profile = await profile_for(session, viewer, choice.profile_id, lock=True)
    except Refused:
        sentence = "Another profile is followed there now, and it is somebody else's. Look again."
        raise Refused(code="conflict", sentence=sentence) from None
    if (profile.id, profile.settings_version) != (new.profile_id, new.settings_version):
        current = ProfileOut.with_content(profile, await version_of(session, profile))
        raise stale("profile that is followed there", current.model_dump(mode="json"))
    return profile


async def _in_force(session: AsyncSession, viewer: Viewer, place: ProfilePlace) -> PipelineChoice | None:
    """The choice that counts at a place, be it a wider one."""
    if place.conversation_id is not None:
        conversation = await session.get_one(Conversation, place.conversation_id)
        space = await session.get_one(Space, conversation.space_id)
        decisions = (await read_profile_choices(session, conversation, space)).decisions()
        if len(decisions) > 1:
            raise Refused(
                code="conflict",
                sentence="What is followed there depends on who speaks. Choose one profile for the chat first.",
            )
        return decisions[0][1]
    here = await choice_at(session, place_columns(viewer, place))
    if here is None and place.space_id is not None:
        return await choice_at(session, {"user_id": (await session.get_one(Space, place.space_id)).owner_id})
    return here


async def _joined(profile: Profile, content: JsonObject, key: str) -> dict[str, Json]:
    """The content with the example's pipelines behind its own, unless the two cannot be in one profile."""
    example, source = example_in_full(key)
    names = f"“{example.name}” was not added to “{shown_name(profile.name)}”"
    own = {pipeline.id: pipeline for pipeline in profile.pipelines}
    for pipeline in example.pipelines:
        if pipeline.id not in own:
            continue
        rival = own[pipeline.id]
        if {step.id for step in rival.steps} & {step.id for step in pipeline.steps}:
            sentence = f"“{example.name}” is part of “{shown_name(profile.name)}” already."
        else:
            sentence = f"{names}: both have a pipeline with the id “{pipeline.id}”. Rename the one in your profile."
        raise Refused(code="conflict", sentence=sentence)
    collisions = tag_collisions((*profile.claims(), *example.claims()))
    if collisions:
        raise Refused(code="conflict", sentence=" ".join([f"{names}:", *map(str, collisions)]))
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
