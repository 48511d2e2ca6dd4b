"""What is followed in a conversation, and which choice around it decides that."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Conversation, PipelineChoice, PipelineProfile
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import panel_entry, panel_view
from tavernkit.playground.edge.views.pipelines import FollowedView, PipelinesPanelView, PlaceChoiceView
from tavernkit.playground.edge.views.spaces import ChoiceView
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

PROFILES_SHOWN = 200
NOTHING = "Nothing is followed"


def followed_views(around: ProfileChoices, viewer: Viewer, entry: SpaceAccess) -> tuple[FollowedView, ...]:
    """What is followed, listed once if it is the same whoever speaks."""
    return tuple(
        _followed(around, viewer, entry, choice, "" if speaker is None else around.names[speaker])
        for speaker, choice in around.decisions()
    )


async def pipelines_panel_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, problem: str = "", at: str = ""
) -> PipelinesPanelView:
    """The tab of the side panel; `problem` is why the choice at the place `at` was refused."""
    async with runtime.database.read() as session:
        conversation, entry = await panel_entry(session, viewer, conversation_id)
        around = await read_profile_choices(session, conversation, entry.space)
        usable = await profiles_page(session, viewer, behind=None, limit=PROFILES_SHOWN)
    here, *wider = _places(around, viewer, conversation, entry, usable)
    here, *wider = (place.with_(problem=problem) if place.key == at else place for place in (here, *wider))
    return PipelinesPanelView(
        panel=panel_view(conversation, entry, "pipelines"),
        followed=followed_views(around, viewer, entry),
        here=here,
        wider=tuple(wider),
        has_profiles=bool(usable),
    )


def _followed(
    around: ProfileChoices, viewer: Viewer, entry: SpaceAccess, choice: PipelineChoice | None, speaker: str
) -> FollowedView:
    profile = None if choice is None or choice.profile_id is None else around.profiles[choice.profile_id]
    is_theirs = profile is not None and profile.owner_id in (None, viewer.user_id)
    return FollowedView(
        speaker=speaker,
        profile=NOTHING if profile is None else shown_name(profile.name),
        address=f"/pipelines/{profile.id}" if profile is not None and is_theirs else "",
        origin="" if choice is None else f"chosen {_origin(around, viewer, entry, choice)}",
    )


def _origin(around: ProfileChoices, viewer: Viewer, entry: SpaceAccess, choice: PipelineChoice) -> str:
    match place_of(choice):
        case "conversation":
            return "for this chat"
        case "character":
            return "for " + (around.names[choice.character_id] if choice.character_id else "the character")
        case "space":
            return "for this space"
        case "everywhere":
            return "everywhere" if entry.space.owner_id == viewer.user_id else "by the owner of the space"


def _places(
    around: ProfileChoices,
    viewer: Viewer,
    conversation: Conversation,
    entry: SpaceAccess,
    usable: Sequence[PipelineProfile],
) -> list[PlaceChoiceView]:
    """The conversation first, then wider and wider places."""
    space, is_owners = entry.space, entry.space.owner_id == viewer.user_id
    is_active = space.status == "active"
    is_ready = is_active and conversation.status == "ready"
    first = next(iter(around.names), None)
    return [
        _place(around, usable, "conversation", "In this chat", first, entry.access >= Access.MODERATE and is_ready),
        *(
            _place(around, usable, "character", f"Whenever {around.names[id]} speaks", id, _may_change(one, viewer))
            for id, one in around.characters.items()
        ),
        _place(
            around,
            usable,
            "space",
            f"In the space {shown_name(space.name)}",
            first,
            entry.access >= Access.ADMINISTER and is_active,
        ),
        _place(
            around,
            usable,
            "everywhere",
            "Everywhere" if is_owners else "In everything of the owner's",
            first,
            is_owners,
        ),
    ]


def _place(
    around: ProfileChoices,
    usable: Sequence[PipelineProfile],
    kind: PlaceKind,
    label: str,
    speaker: UUID | None,
    may_change: bool,
) -> PlaceChoiceView:
    choice = next(
        (choice for choice in around.choices if place_of(choice) == kind and choice.character_id in (None, speaker)),
        None,
    )
    otherwise = around.name_of(around.deciding(speaker, beyond=kind))
    return PlaceChoiceView(
        key=f"character_{speaker}" if kind == "character" else kind,
        place=kind,
        character_id=str(speaker) if kind == "character" else "",
        label=label,
        chosen=around.name_of(choice) or ("None" if choice is not None else "Not decided here"),
        choices=_choices(around, choice, usable, kind, otherwise),
        mark=_mark(around, choice),
        may_change=may_change,
        problem="",
    )


def _mark(around: ProfileChoices, choice: PipelineChoice | None) -> str:
    if choice is None:
        return WIDER
    return NONE if choice.profile_id is None else mark_of(around.profiles[choice.profile_id])


def _choices(
    around: ProfileChoices,
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
        shown[chosen] = around.profiles[chosen]
    options += (
        ChoiceView(value=str(id), label=shown_name(profile.name), is_chosen=id == chosen)
        for id, profile in shown.items()
    )
    return tuple(options)


def _may_change(character: Character, viewer: Viewer) -> bool:
    return character.owner_id == viewer.user_id or (character.owner_id is None and viewer.is_administrator)
