"""From rows to what the list of profiles, the editor and the tab of the side panel show."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.artifacts.pipelines import EXAMPLES, Profile
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, PipelineChoice, PipelineProfile
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_name, cursor
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import ChoiceView, PanelView, panel_access, panel_view
from tavernkit.playground.edge.views.pipeline_outline import PipelineOutline, in_words, outline
from tavernkit.playground.story.access.access import Access, SpaceAccess
from tavernkit.playground.story.pipelines.checking import Checked, check_content, readable_part
from tavernkit.playground.story.pipelines.documents import ProfileOut
from tavernkit.playground.story.pipelines.queries import (
    NONE,
    WIDER,
    FollowedPlace,
    PlaceKind,
    ProfileChoices,
    choice_at,
    mark_of,
    own_profiles_named,
    place_of,
    places_followed,
    profile_for,
    profiles_by_id,
    profiles_page,
    read_profile_choices,
    version_of,
)
from tavernkit.playground.story.pipelines.service import example_in_full, examples_in
from tavernkit.text.js_json import to_json
from tavernkit.values import Json, JsonObject, Value

PROFILES_PER_PAGE = 100
LINES_SHOWN = 400
IN_THIS_CONVERSATION = _("In this conversation")
PROFILES_SHOWN = 200
NO_PROFILE = _("No profile")


class FollowedView(Value, frozen=True, kw_only=True):
    """What is followed in a conversation, and who has decided that; `speaker` where it depends on who speaks."""

    speaker: str
    profile: str
    address: str
    origin: str


class FollowedPlaceView(Value, frozen=True, kw_only=True):
    """A place where a profile is followed; `fields` name it in the form that ends that."""

    words: str
    address: str
    fields: Mapping[str, str]
    may_change: bool


class ProfileRow(Value, frozen=True, kw_only=True):
    """A profile in the list. `is_on`: it is what was chosen where the page would switch it on."""

    row: PipelineProfile
    may_change: bool
    is_on: bool
    places: tuple[FollowedPlaceView, ...]
    problem: str


class ExampleView(Value, frozen=True, kw_only=True):
    """A built-in profile, and the person's own copy of it. `is_within`: it is followed as a part of another."""

    key: str
    profile: Profile
    facts: tuple[str, ...]
    copy: ProfileRow | None
    is_within: bool
    problem: str


class BaseView(Value, frozen=True, kw_only=True):
    """The profile that examples can be added to; `examples` are the keys of those that it holds already."""

    row: PipelineProfile
    examples: tuple[str, ...]


class TargetView(Value, frozen=True, kw_only=True):
    """Where the page switches profiles on: in one conversation, or in everything of the person's.

    `chosen_id` and `chosen` are what was chosen there before; `base` is what is followed there, be it because of a
    wider choice, if examples can be added to it.
    """

    conversation_id: str
    title: str
    chosen_id: UUID | None
    chosen: str
    followed: tuple[FollowedView, ...]
    base: BaseView | None

    @property
    def query(self) -> str:
        return f"?conversation={self.conversation_id}" if self.conversation_id else ""


class ProfilesView(Value, frozen=True, kw_only=True):
    """The list of profiles, with the examples."""

    target: TargetView
    examples: tuple[ExampleView, ...]
    own: tuple[ProfileRow, ...]
    everybodys: tuple[ProfileRow, ...]
    is_first: bool
    next: str | None


class ProfileView(Value, frozen=True, kw_only=True):
    """A profile in the editor; `given` is what its boxes hold, as it is saved or as somebody has typed it."""

    row: PipelineProfile
    title: str
    may_change: bool
    given: Mapping[str, str]
    checked: Checked
    outline: tuple[PipelineOutline, ...]
    places: tuple[FollowedPlaceView, ...]


class ConflictView(Value, frozen=True, kw_only=True):
    """What somebody else has saved meanwhile, where it differs from what was typed; `lines` compare the JSON."""

    name: str
    description: str
    lines: tuple[tuple[str, str], ...]


class PlaceChoiceView(Value, frozen=True, kw_only=True):
    """What was chosen at one of the places around a conversation, and what could be; by its mark, a page that is told
    of a choice knows whether it shows it already."""

    key: str
    place: str
    character_id: str
    label: str
    chosen: str
    choices: tuple[ChoiceView, ...]
    mark: str
    may_change: bool
    problem: str


class PipelinesPanelView(Value, frozen=True, kw_only=True):
    """The tab of the side panel; `in_chat` is the choice for the conversation, `wider` those around it."""

    panel: PanelView
    followed: tuple[FollowedView, ...]
    in_chat: PlaceChoiceView
    wider: tuple[PlaceChoiceView, ...]
    has_profiles: bool


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
        own=tuple(row for row in rest if row.row.owner_id is not None),
        everybodys=tuple(row for row in rest if row.row.owner_id is None),
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
        row=row,
        title=shown_name(row.name),
        may_change=_may_change(row, viewer),
        given=given,
        checked=checked,
        outline=() if checked.profile is None else outline(checked.profile),
        places=_places(row.id, viewer, followed),
    )


async def pipelines_panel_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, problem: str = "", at: str = ""
) -> PipelinesPanelView:
    """The tab of the side panel; `problem` is why the choice at the place `at` was refused."""
    async with runtime.database.read() as session:
        conversation, access = await panel_access(session, viewer, conversation_id)
        choices = await read_profile_choices(session, conversation, access.space)
        usable = await profiles_page(session, viewer, behind=None, limit=PROFILES_SHOWN)
    in_chat, *wider = _choice_places(choices, viewer, conversation, access, usable)
    in_chat, *wider = (place.with_(problem=problem) if place.key == at else place for place in (in_chat, *wider))
    return PipelinesPanelView(
        panel=panel_view(conversation, access, "pipelines"),
        followed=_followed_views(choices, viewer, access),
        in_chat=in_chat,
        wider=tuple(wider),
        has_profiles=bool(usable),
    )


def as_text(content: JsonObject) -> str:
    """A profile's content as somebody edits it."""
    return to_json(content, indent=2)


def conflict_view(current: Json, given: Mapping[str, str]) -> ConflictView:
    """How what is saved now differs from what was typed."""
    saved = ProfileOut.model_validate(current)
    content = as_text(saved.content)
    lines = list(difflib.unified_diff(content.splitlines(), given["content"].splitlines(), lineterm="", n=2))[2:]
    kinds = {"-": "removed", "+": "added", "@": "place"}
    return ConflictView(
        name=saved.name if saved.name != given["name"] else "",
        description=saved.description if saved.description != given["description"] else "",
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
        title=f"{shown_name(access.space.name)} › {shown_name(conversation.name)}",
        chosen_id=None if chosen is None else chosen.profile_id,
        chosen=around.name_of(chosen),
        followed=_followed_views(around, viewer, access),
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
    return BaseView(row=profile, examples=held)


def _row(
    row: PipelineProfile, viewer: Viewer, target: TargetView, followed: Iterable[FollowedPlace], problem: str, at: str
) -> ProfileRow:
    return ProfileRow(
        row=row,
        may_change=_may_change(row, viewer),
        is_on=row.id == target.chosen_id,
        places=_places(row.id, viewer, followed, target.conversation_id),
        problem=problem if at == str(row.id) else "",
    )


def _example(key: str, copy: ProfileRow | None, base: BaseView | None, problem: str) -> ExampleView:
    profile, _source = example_in_full(key)
    return ExampleView(
        key=key,
        profile=profile,
        facts=in_words(profile),
        copy=copy,
        is_within=base is not None and key in base.examples and (copy is None or copy.row.id != base.row.id),
        problem=problem or ("" if copy is None else copy.problem),
    )


def _may_change(row: PipelineProfile, viewer: Viewer) -> bool:
    return row.owner_id is not None or viewer.is_administrator


def _places(
    profile_id: UUID, viewer: Viewer, followed: Iterable[FollowedPlace], chat_id: str = ""
) -> tuple[FollowedPlaceView, ...]:
    """The places of one profile; the conversation that the page is about comes first, and is not called by its name."""
    places = (_place(each, viewer, chat_id) for each in followed if each.choice.profile_id == profile_id)
    return tuple(sorted(places, key=lambda place: place.words != IN_THIS_CONVERSATION))


def _place(each: FollowedPlace, viewer: Viewer, chat_id: str) -> FollowedPlaceView:
    owns_space = each.space is not None and (each.space.owner_id == viewer.user_id or viewer.is_administrator)
    if each.conversation is not None:
        moderates = each.member is not None and each.member.role == "moderator"
        space = "" if each.space is None else f"{shown_name(each.space.name)} › "
        title = _("In the conversation “{name}”", name=f"{space}{shown_name(each.conversation.name)}")
        return FollowedPlaceView(
            words=IN_THIS_CONVERSATION if str(each.conversation.id) == chat_id else title,
            address=f"/conversations/{each.conversation.id}",
            fields={"conversation_id": str(each.conversation.id)},
            may_change=owns_space or moderates,
        )
    if each.space is not None:
        return FollowedPlaceView(
            words=_("In the space “{name}”", name=shown_name(each.space.name)),
            address=f"/spaces/{each.space.id}",
            fields={"space_id": str(each.space.id)},
            may_change=owns_space,
        )
    if each.character is not None:
        return FollowedPlaceView(
            words=_("When {name} speaks", name=shown_name(each.character.name)),
            address=f"/characters/{each.character.id}",
            fields={"character_id": str(each.character.id)},
            may_change=each.character.owner_id is not None or viewer.is_administrator,
        )
    return FollowedPlaceView(words=_("Everywhere"), address="", fields={}, may_change=True)


def _followed_views(choices: ProfileChoices, viewer: Viewer, access: SpaceAccess) -> tuple[FollowedView, ...]:
    """What is followed, listed once if it is the same whoever speaks."""
    return tuple(
        _followed(choices, viewer, access, choice, "" if speaker is None else choices.names[speaker])
        for speaker, choice in choices.decisions()
    )


def _followed(
    choices: ProfileChoices, viewer: Viewer, access: SpaceAccess, choice: PipelineChoice | None, speaker: str
) -> FollowedView:
    profile = None if choice is None or choice.profile_id is None else choices.profiles[choice.profile_id]
    is_theirs = profile is not None and profile.owner_id in (None, viewer.user_id)
    return FollowedView(
        speaker=speaker,
        profile=NO_PROFILE if profile is None else shown_name(profile.name),
        address=f"/pipelines/{profile.id}" if profile is not None and is_theirs else "",
        origin="" if choice is None else _origin(choices, viewer, access, choice),
    )


def _origin(choices: ProfileChoices, viewer: Viewer, access: SpaceAccess, choice: PipelineChoice) -> str:
    match place_of(choice):
        case "conversation":
            return _("chosen for this conversation")
        case "character":
            name = choices.names[choice.character_id] if choice.character_id else _("the character")
            return _("chosen for {name}", name=name)
        case "space":
            return _("chosen for this space")
        case "everywhere":
            is_owner = access.space.owner_id == viewer.user_id
            return _("chosen everywhere") if is_owner else _("chosen by the owner of the space")


def _choice_places(
    choices: ProfileChoices,
    viewer: Viewer,
    conversation: Conversation,
    access: SpaceAccess,
    usable: Sequence[PipelineProfile],
) -> list[PlaceChoiceView]:
    """The conversation first, then wider and wider places."""
    space, is_owners = access.space, access.space.owner_id == viewer.user_id
    is_active = space.status == "active"
    is_ready = is_active and conversation.status == "ready"
    first = next(iter(choices.names), None)
    places: list[tuple[PlaceKind, str, UUID | None, bool]] = [
        ("conversation", IN_THIS_CONVERSATION, first, access.level >= Access.MODERATE and is_ready),
        *(
            ("character", _("When {name} speaks", name=choices.names[id]), id, _may_change_character(one, viewer))
            for id, one in choices.characters.items()
        ),
        (
            "space",
            _("In the space “{name}”", name=shown_name(space.name)),
            first,
            access.level >= Access.ADMINISTER and is_active,
        ),
        ("everywhere", _("Everywhere") if is_owners else _("In all spaces of the owner"), first, is_owners),
    ]
    return [_choice_place(choices, usable, *place) for place in places]


def _choice_place(
    choices: ProfileChoices,
    usable: Sequence[PipelineProfile],
    kind: PlaceKind,
    label: str,
    speaker: UUID | None,
    may_change: bool,
) -> PlaceChoiceView:
    choice = next(
        (choice for choice in choices.choices if place_of(choice) == kind and choice.character_id in (None, speaker)),
        None,
    )
    otherwise = choices.name_of(choices.deciding(speaker, beyond=kind))
    return PlaceChoiceView(
        key=f"character_{speaker}" if kind == "character" else kind,
        place=kind,
        character_id=str(speaker) if kind == "character" else "",
        label=label,
        chosen=choices.name_of(choice) or (_("None") if choice is not None else _("Not set here")),
        choices=_choices(choices, choice, usable, kind, otherwise),
        mark=_mark(choices, choice),
        may_change=may_change,
        problem="",
    )


def _mark(choices: ProfileChoices, choice: PipelineChoice | None) -> str:
    if choice is None:
        return WIDER
    return NONE if choice.profile_id is None else mark_of(choices.profiles[choice.profile_id])


def _choices(
    choices: ProfileChoices,
    choice: PipelineChoice | None,
    usable: Sequence[PipelineProfile],
    kind: PlaceKind,
    otherwise: str,
) -> tuple[ChoiceView, ...]:
    chosen = None if choice is None else choice.profile_id
    wider = _("None") if kind == "everywhere" else _("Inherited: {profile}", profile=otherwise or _("none"))
    options = [ChoiceView(value=WIDER, label=wider, is_chosen=choice is None)]
    # Beyond everywhere there is nobody who could decide otherwise.
    if kind != "everywhere":
        options.append(ChoiceView(value=NONE, label=_("None"), is_chosen=choice is not None and chosen is None))
    shown = {profile.id: profile for profile in usable}
    if chosen is not None and chosen not in shown:
        shown[chosen] = choices.profiles[chosen]
    options += (
        ChoiceView(value=str(id), label=shown_name(profile.name), is_chosen=id == chosen)
        for id, profile in shown.items()
    )
    return tuple(options)


def _may_change_character(character: Character, viewer: Viewer) -> bool:
    return character.owner_id == viewer.user_id or (character.owner_id is None and viewer.is_administrator)
