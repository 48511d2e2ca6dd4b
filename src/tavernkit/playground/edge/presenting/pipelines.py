"""From rows to what the list of profiles and the editor show."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import EXAMPLES
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import PipelineChoice, PipelineProfile
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_name, cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import panel_access
from tavernkit.playground.edge.presenting.pipelines_panel import followed_views
from tavernkit.playground.edge.views.pipeline_outline import in_words, outline
from tavernkit.playground.edge.views.pipelines import (
    BaseView,
    ConflictView,
    ExampleView,
    FollowedPlaceView,
    ProfileRow,
    ProfilesView,
    ProfileView,
    TargetView,
)
from tavernkit.playground.story.pipelines.checking import Checked, check_content, readable_part
from tavernkit.playground.story.pipelines.queries import (
    FollowedPlace,
    choice_at,
    own_profiles_named,
    places_followed,
    profile_for,
    profiles_by_id,
    profiles_page,
    read_profile_choices,
    version_of,
)
from tavernkit.playground.story.pipelines.service import example_in_full, examples_in
from tavernkit.text.js_json import to_json
from tavernkit.values import JsonObject

PROFILES_PER_PAGE = 100
LINES_SHOWN = 400


async def profiles_view(
    runtime: Runtime,
    viewer: Viewer,
    *,
    conversation_id: UUID | None = None,
    after: str | None = None,
    problem: str = "",
    at: str = "",
) -> ProfilesView:
    """The profiles that the person can use; `problem` is why the one named `at`, by id or by key, was refused."""
    behind = behind_name(after)
    names = {example_in_full(key)[0].name: key for key in EXAMPLES}
    async with runtime.database.read() as session:
        target = await _target(session, viewer, conversation_id)
        rows = await profiles_page(session, viewer, behind=behind, limit=PROFILES_PER_PAGE + 1)
        copies = {names[row.name]: row for row in await own_profiles_named(session, viewer, names)}
        shown = rows[:PROFILES_PER_PAGE]
        followed = await places_followed(session, viewer, {row.id for row in (*shown, *copies.values())})
    listed = {row.id: _row(row, viewer, target, followed, problem, at) for row in (*shown, *copies.values())}
    in_cards = {row.id for row in copies.values()}
    rest = [listed[row.id] for row in shown if row.id not in in_cards]
    return ProfilesView(
        target=target,
        examples=tuple(
            _example(key, listed[copies[key].id] if key in copies else None, target.base, problem if at == key else "")
            for key in EXAMPLES
        ),
        own=tuple(row for row in rest if not row.is_everybodys),
        everybodys=tuple(row for row in rest if row.is_everybodys),
        is_first=after is None,
        next=cursor(shown[-1].name, str(shown[-1].id)) if len(rows) > PROFILES_PER_PAGE else None,
    )


async def profile_view(
    runtime: Runtime,
    viewer: Viewer,
    profile_id: UUID,
    *,
    given: Mapping[str, str] | None = None,
    checked: Checked | None = None,
) -> ProfileView:
    """A profile in the editor; `given` is what somebody has typed into its boxes, and `checked` what that is worth."""
    async with runtime.database.read() as session:
        row = await profile_for(session, viewer, profile_id)
        version = await version_of(session, row)
        followed = await places_followed(session, viewer, [row.id])
    checked = checked or await check_content(version.content, runtime.functions)
    given = given or {"name": row.name, "description": row.description, "content": as_text(version.content)}
    return ProfileView(
        id=row.id,
        title=shown_name(row.name),
        version=row.settings_version,
        updated_at=row.updated_at,
        may_change=_may_change(row, viewer),
        is_everybodys=row.owner_id is None,
        name=given["name"],
        description=given["description"],
        content=given["content"],
        checked=checked,
        outline=() if checked.profile is None else outline(checked.profile),
        places=_places(row.id, viewer, followed),
    )


def as_text(content: JsonObject) -> str:
    """A profile's content as somebody edits it."""
    return to_json(content, indent=2)


def conflict_view(current: JsonObject, given: Mapping[str, str]) -> ConflictView:
    """How what is saved now differs from what was typed."""
    saved = as_text(current["content"])
    lines = list(difflib.unified_diff(saved.splitlines(), given["content"].splitlines(), lineterm="", n=2))[2:]
    kinds = {"-": "removed", "+": "added", "@": "place"}
    return ConflictView(
        name=current["name"] if current["name"] != given["name"] else "",
        description=current["description"] if current["description"] != given["description"] else "",
        lines=tuple((kinds.get(line[:1], "same"), line) for line in lines[:LINES_SHOWN]),
    )


async def _target(session: AsyncSession, viewer: Viewer, conversation_id: UUID | None) -> TargetView:
    if conversation_id is None:
        choice = await choice_at(session, {"user_id": viewer.user_id})
        profile_id = None if choice is None else choice.profile_id
        profiles = {} if profile_id is None else await profiles_by_id(session, [profile_id])
        name = "" if profile_id is None else shown_name(profiles[profile_id].name)
        base = await _base(session, viewer, choice, profiles)
        return TargetView(conversation_id="", title="", chosen_id=profile_id, chosen=name, followed=(), base=base)
    conversation, access = await panel_access(session, viewer, conversation_id)
    around = await read_profile_choices(session, conversation, access.space)
    chosen = next((choice for choice in around.choices if choice.conversation_id is not None), None)
    decisions = around.decisions()
    in_force = decisions[0][1] if len(decisions) == 1 else None
    return TargetView(
        conversation_id=str(conversation.id),
        title=f"{shown_name(access.space.name)} › {shown_name(conversation.title)}",
        chosen_id=None if chosen is None else chosen.profile_id,
        chosen=around.name_of(chosen),
        followed=followed_views(around, viewer, access),
        base=await _base(session, viewer, in_force, around.profiles),
    )


async def _base(
    session: AsyncSession, viewer: Viewer, choice: PipelineChoice | None, profiles: Mapping[UUID, PipelineProfile]
) -> BaseView | None:
    """What examples can be added to: the profile of the choice that counts, if it is the person's or everybody's."""
    profile = None if choice is None or choice.profile_id is None else profiles[choice.profile_id]
    if profile is None or profile.owner_id not in (None, viewer.user_id):
        return None
    held = examples_in(readable_part(profile, (await version_of(session, profile)).content))
    return BaseView(id=profile.id, version=profile.settings_version, name=shown_name(profile.name), examples=held)


def _row(
    row: PipelineProfile, viewer: Viewer, target: TargetView, followed: Iterable[FollowedPlace], problem: str, at: str
) -> ProfileRow:
    return ProfileRow(
        id=row.id,
        name=shown_name(row.name),
        description=row.description,
        is_everybodys=row.owner_id is None,
        may_change=_may_change(row, viewer),
        is_on=row.id == target.chosen_id,
        places=_places(row.id, viewer, followed, target.conversation_id),
        problem=problem if at == str(row.id) else "",
    )


def _example(key: str, copy: ProfileRow | None, base: BaseView | None, problem: str) -> ExampleView:
    profile, _ = example_in_full(key)
    return ExampleView(
        key=key,
        name=profile.name,
        description=profile.description,
        facts=in_words(profile),
        copy=copy,
        is_within=base is not None and key in base.examples and (copy is None or copy.id != base.id),
        problem=problem or ("" if copy is None else copy.problem),
    )


def _may_change(row: PipelineProfile, viewer: Viewer) -> bool:
    return row.owner_id is not None or viewer.is_administrator


def _places(
    profile_id: UUID, viewer: Viewer, followed: Iterable[FollowedPlace], chat_id: str = ""
) -> tuple[FollowedPlaceView, ...]:
    """The places of one profile; the conversation `here` comes first, and is not called by its name."""
    places = [_place(each, viewer) for each in followed if each.choice.profile_id == profile_id]
    near = [place.with_(words="In this chat") for place in places if chat_id and chat_id in place.fields.values()]
    return (
        *near,
        *(place for place in places if not chat_id or chat_id not in place.fields.values()),
    )


def _place(each: FollowedPlace, viewer: Viewer) -> FollowedPlaceView:
    owns_space = each.space is not None and (each.space.owner_id == viewer.user_id or viewer.is_administrator)
    if each.conversation is not None:
        moderates = each.member is not None and each.member.role == "moderator"
        space = "" if each.space is None else f"{shown_name(each.space.name)} › "
        return FollowedPlaceView(
            words=f"In the chat “{space}{shown_name(each.conversation.title)}”",
            address=f"/conversations/{each.conversation.id}",
            fields={"conversation_id": str(each.conversation.id)},
            may_change=owns_space or moderates,
        )
    if each.space is not None:
        return FollowedPlaceView(
            words=f"In the space “{shown_name(each.space.name)}”",
            address=f"/spaces/{each.space.id}",
            fields={"space_id": str(each.space.id)},
            may_change=owns_space,
        )
    if each.character is not None:
        return FollowedPlaceView(
            words=f"Whenever {shown_name(each.character.name)} speaks",
            address=f"/characters/{each.character.id}",
            fields={"character_id": str(each.character.id)},
            may_change=each.character.owner_id is not None or viewer.is_administrator,
        )
    return FollowedPlaceView(words="Everywhere", address="", fields={}, may_change=True)
