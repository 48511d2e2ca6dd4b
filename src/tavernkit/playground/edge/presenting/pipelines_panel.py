"""What is followed in a conversation, and which choice around it decides that."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, PipelineChoice, PipelineProfile
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import ChoiceView, PanelView, panel_access, panel_view
from tavernkit.playground.story.access.access import Access, SpaceAccess
from tavernkit.playground.story.pipelines.conversation_choices import (
    NONE,
    WIDER,
    PlaceKind,
    ProfileChoices,
    mark_of,
    place_of,
    read_profile_choices,
)
from tavernkit.playground.story.pipelines.queries import profiles_page
from tavernkit.values import Value

PROFILES_SHOWN = 200
NOTHING = "Nothing is followed"


class FollowedView(Value, frozen=True, kw_only=True):
    """What is followed in a conversation, and who has decided that; `speaker` where it depends on who speaks."""

    speaker: str
    profile: str
    address: str
    origin: str


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


def followed_views(choices: ProfileChoices, viewer: Viewer, access: SpaceAccess) -> tuple[FollowedView, ...]:
    """What is followed, listed once if it is the same whoever speaks."""
    return tuple(
        _followed(choices, viewer, access, choice, "" if speaker is None else choices.names[speaker])
        for speaker, choice in choices.decisions()
    )


async def pipelines_panel_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, problem: str = "", at: str = ""
) -> PipelinesPanelView:
    """The tab of the side panel; `problem` is why the choice at the place `at` was refused."""
    async with runtime.database.read() as session:
        conversation, access = await panel_access(session, viewer, conversation_id)
        choices = await read_profile_choices(session, conversation, access.space)
        usable = await profiles_page(session, viewer, behind=None, limit=PROFILES_SHOWN)
    in_chat, *wider = _places(choices, viewer, conversation, access, usable)
    in_chat, *wider = (place.with_(problem=problem) if place.key == at else place for place in (in_chat, *wider))
    return PipelinesPanelView(
        panel=panel_view(conversation, access, "pipelines"),
        followed=followed_views(choices, viewer, access),
        in_chat=in_chat,
        wider=tuple(wider),
        has_profiles=bool(usable),
    )


def _followed(
    choices: ProfileChoices, viewer: Viewer, access: SpaceAccess, choice: PipelineChoice | None, speaker: str
) -> FollowedView:
    profile = None if choice is None or choice.profile_id is None else choices.profiles[choice.profile_id]
    is_theirs = profile is not None and profile.owner_id in (None, viewer.user_id)
    return FollowedView(
        speaker=speaker,
        profile=NOTHING if profile is None else shown_name(profile.name),
        address=f"/pipelines/{profile.id}" if profile is not None and is_theirs else "",
        origin="" if choice is None else f"chosen {_origin(choices, viewer, access, choice)}",
    )


def _origin(choices: ProfileChoices, viewer: Viewer, access: SpaceAccess, choice: PipelineChoice) -> str:
    match place_of(choice):
        case "conversation":
            return "for this chat"
        case "character":
            return "for " + (choices.names[choice.character_id] if choice.character_id else "the character")
        case "space":
            return "for this space"
        case "everywhere":
            return "everywhere" if access.space.owner_id == viewer.user_id else "by the owner of the space"


def _places(
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
        ("conversation", "In this chat", first, access.level >= Access.MODERATE and is_ready),
        *(
            ("character", f"Whenever {choices.names[id]} speaks", id, _may_change(one, viewer))
            for id, one in choices.characters.items()
        ),
        ("space", f"In the space {shown_name(space.name)}", first, access.level >= Access.ADMINISTER and is_active),
        ("everywhere", "Everywhere" if is_owners else "In everything of the owner's", first, is_owners),
    ]
    return [_place(choices, usable, *place) for place in places]


def _place(
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
        chosen=choices.name_of(choice) or ("None" if choice is not None else "Not decided here"),
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
    wider = "None" if kind == "everywhere" else f"As elsewhere: {otherwise or 'none'}"
    options = [ChoiceView(value=WIDER, label=wider, is_chosen=choice is None)]
    # Beyond everywhere there is nobody who could decide otherwise.
    if kind != "everywhere":
        options.append(ChoiceView(value=NONE, label="None", is_chosen=choice is not None and chosen is None))
    shown = {profile.id: profile for profile in usable}
    if chosen is not None and chosen not in shown:
        shown[chosen] = choices.profiles[chosen]
    options += (
        ChoiceView(value=str(id), label=shown_name(profile.name), is_chosen=id == chosen)
        for id, profile in shown.items()
    )
    return tuple(options)


def _may_change(character: Character, viewer: Viewer) -> bool:
    return character.owner_id == viewer.user_id or (character.owner_id is None and viewer.is_administrator)
