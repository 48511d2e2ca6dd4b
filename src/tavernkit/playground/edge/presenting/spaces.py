"""From rows to the page of a space, and to the tab of the side panel that shows who is in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Preset, Provider, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.paging import behind_time, cursor, moment
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.home import Face, face
from tavernkit.playground.edge.presenting.panel import KINDS, ChoiceView, panel_access, panel_view
from tavernkit.playground.edge.views.characters import other_characters
from tavernkit.playground.story.access.access import Access, PicturedMember, SpaceAccess, pictured_members, space_for
from tavernkit.playground.story.access.personas import locked_persona
from tavernkit.playground.story.conversations.queries import list_conversations, list_public_conversations
from tavernkit.playground.story.members.invitations import open_invitations
from tavernkit.playground.story.members.service import may_mute
from tavernkit.playground.story.personas.queries import PersonaLine, persona_lines
from tavernkit.playground.story.presets.queries import presets_page
from tavernkit.playground.story.providers.queries import providers_page
from tavernkit.playground.story.spaces.backgrounds import offered_backgrounds
from tavernkit.values import Value

STORIES_PER_PAGE = 30
FACES_SHOWN = 100
MEMBERS_SHOWN = 500
ADDABLE_SHOWN = 8
CHOICES_SHOWN = 200
ROLES = {"owner": _("Owner"), "moderator": _("Moderator")}
PARTICIPATIONS = {"muted": _("Muted"), "observer": _("Observer")}
INVITED_ROLES = {"member": _("Member"), "moderator": _("Moderator"), "observer": _("Observer")}
VISIBILITIES = {
    "shared": (_("Members"), _("Everybody in this space can read this conversation.")),
    "private": (_("Only the owner"), _("Only the owner of the space can read this conversation.")),
    "public": (_("Everybody with an account"), _("Everybody with an account here can find and read it.")),
}
"""Who may read a conversation, in a few words and in a sentence."""


class MemberView(Value, frozen=True, kw_only=True):
    """Somebody in a space; what the viewer may not change is not offered. An empty tuple is nothing to choose."""

    row: SpaceMembership
    is_self: bool
    face: Face
    about: str
    address: str
    is_muted: bool
    may_mute: bool
    may_remove: bool
    may_return: bool
    may_go_up: bool
    may_go_down: bool
    may_hand_over: bool
    may_describe: bool
    talkativeness: str | None
    roles: tuple[ChoiceView, ...]
    personas: tuple[ChoiceView, ...]
    providers: tuple[ChoiceView, ...]
    presets: tuple[ChoiceView, ...]

    @property
    def role(self) -> str:
        """The role that the page shows, on which observers are one."""
        return "observer" if self.row.participation == "observer" else self.row.role

    @property
    def has_more(self) -> bool:
        is_chosen = self.roles or self.personas or self.providers or self.presets
        return self.talkativeness is not None or self.may_describe or bool(is_chosen)


class _Choices(Value, frozen=True, kw_only=True):
    """What a member can be given."""

    personas: Sequence[PersonaLine]
    providers: Sequence[Provider]
    presets: Sequence[Preset]


async def space_view(
    runtime: Runtime,
    viewer: Viewer,
    space_id: UUID,
    *,
    after: str | None = None,
    name_typed: str | None = None,
    problem: str = "",
) -> Mapping[str, object]:
    """A space with a page of its conversations, those that changed last first: what kind each is, and what was said in
    it last."""
    stories = await list_conversations(runtime, viewer, space_id, after=behind_time(after), limit=STORIES_PER_PAGE + 1)
    async with runtime.database.read() as session:
        access = await space_for(session, space_id, viewer, Access.READ)
        members = await pictured_members(session, space_id, limit=FACES_SHOWN)
        may_change = access.level >= Access.ADMINISTER
        backgrounds = await offered_backgrounds(session, space_id) if may_change else ()
    shown = stories[:STORIES_PER_PAGE]
    last = shown[-1].conversation if len(stories) > STORIES_PER_PAGE else None
    space = access.space
    return {
        "space": space,
        "may_begin": space.status == "active" and access.level >= Access.TAKE_PART,
        "may_change": may_change,
        "backgrounds": backgrounds,
        "members": tuple(
            face(row.member.cached_display_name, row.thumbnail) for row in members if row.member.status == "active"
        ),
        "stories": tuple(
            (
                row.conversation,
                KINDS.get(row.conversation.kind, ""),
                str(render_markdown(row.last_text or "").striptags()),
            )
            for row in shown
        ),
        "is_first": after is None,
        "next": None if last is None else cursor(moment(last.updated_at), str(last.id)),
        "name_typed": space.name if name_typed is None else name_typed,
        "problem": problem,
    }


async def public_view(runtime: Runtime, *, after: str | None = None) -> Mapping[str, object]:
    """A page of the conversations that everybody with an account may read, those that changed last first."""
    rows = await list_public_conversations(runtime, after=behind_time(after), limit=STORIES_PER_PAGE + 1)
    shown = rows[:STORIES_PER_PAGE]
    last = shown[-1].conversation if len(rows) > STORIES_PER_PAGE else None
    return {
        "rows": tuple(
            {
                "id": row.conversation.id,
                "title": shown_name(row.conversation.name),
                "space_name": shown_name(row.space_name),
                "owner_name": shown_name(row.owner_name),
                "last_line": str(render_markdown(row.last_text or "").striptags()),
                "last_at": row.conversation.updated_at,
            }
            for row in shown
        ),
        "older": "" if last is None else cursor(moment(last.updated_at), str(last.id)),
        "is_first": after is None,
    }


async def members_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, search: str = "", problem: str = "", link: str = ""
) -> Mapping[str, object]:
    """Who is in the space of a conversation, as one who may look there sees it; `link` is an invitation that was just
    made."""
    search = search.replace("\x00", "").strip()
    async with runtime.database.read() as session:
        conversation, access = await panel_access(session, viewer, conversation_id)
        rows = await pictured_members(session, access.space.id, limit=MEMBERS_SHOWN)
        choices = _Choices(
            personas=await persona_lines(session, viewer.user_id),
            providers=await providers_page(session, viewer, behind=None, limit=CHOICES_SHOWN),
            presets=[
                preset
                for kind in ("chat", "text")
                for preset in await presets_page(session, viewer, kind=kind, behind=None, limit=CHOICES_SHOWN)
            ],
        )
        locked = await locked_persona(session, conversation.id, viewer.user_id)
        is_owner = access.level >= Access.ADMINISTER and access.space.status == "active"
        addable = await _addable(session, viewer, rows, search) if is_owner else None
    invitations = None
    if is_owner and access.space.kind == "discussion":
        invitations = await open_invitations(runtime, viewer, access.space.id)
    active = [row for row in rows if row.member.status == "active"]
    gone = [row for row in rows if row.member.status != "active"]
    return {
        "panel": panel_view(conversation, access, "members", problem),
        "members": tuple(_member(row, viewer, access, choices, place, len(active)) for place, row in enumerate(active)),
        "gone": tuple(_member(row, viewer, access, choices, 0, 0) for row in gone),
        "locks": _chosen(_("As in the space"), choices.personas, None if locked is None else locked.id)
        if access.member is not None and access.space.status == "active" and choices.personas
        else (),
        "addable": addable,
        "search": search,
        "invitations": invitations,
        "invited_roles": INVITED_ROLES,
        "link": link,
        "is_discussion": access.space.kind == "discussion",
        "visibility": VISIBILITIES[conversation.visibility],
        "visibilities": tuple(
            ChoiceView(value=value, label=label, is_chosen=value == conversation.visibility)
            for value, (label, _sentence) in VISIBILITIES.items()
        )
        if is_owner and conversation.status == "ready"
        else (),
    }


async def _addable(
    session: AsyncSession, viewer: Viewer, rows: Iterable[PicturedMember], search: str
) -> tuple[tuple[UUID, Face], ...]:
    """The first characters that are not here, the person's own before everybody's."""
    known = {row.member.character_id for row in rows}
    new = await other_characters(session, viewer, known=known, search=search, limit=ADDABLE_SHOWN)
    return tuple((line.id, face(line.nickname or line.name, line.thumbnail_sha256)) for line in new)


def _member(
    row: PicturedMember, viewer: Viewer, access: SpaceAccess, choices: _Choices, place: int, count: int
) -> MemberView:
    member = row.member
    is_here = member.status == "active"
    is_open = access.space.status == "active"
    is_owner = access.level >= Access.ADMINISTER and is_open
    is_self = member.user_id is not None and member.user_id == viewer.user_id
    is_character = member.kind == "character"
    may_change = is_here and is_open and (is_owner or is_self)
    providers = [row for row in choices.providers if not row.disabled or row.id == member.provider_id]
    has_model = may_change and (is_character or is_self)
    return MemberView(
        row=member,
        is_self=is_self,
        face=face(member.cached_display_name, row.thumbnail),
        about=_about(row, is_self=is_self),
        address=_address(row, viewer),
        is_muted=member.participation == "muted",
        may_mute=may_mute(access, member),
        may_remove=may_change and member.role != "owner",
        may_return=is_owner and not is_here and (not is_character or row.has_card),
        may_go_up=is_owner and is_here and place > 0,
        may_go_down=is_owner and is_here and place < count - 1,
        may_hand_over=is_owner and is_here and not is_character and member.role != "owner",
        may_describe=may_change and is_self,
        roles=_roles(member) if is_owner and is_here and not is_character and member.role != "owner" else (),
        talkativeness=_percent(member.talkativeness) if is_owner and is_here and is_character else None,
        personas=(
            _chosen(_("No persona"), choices.personas, member.persona_id)
            if may_change and is_self and choices.personas
            else ()
        ),
        providers=_chosen(_("Space default"), providers, member.provider_id) if has_model else (),
        presets=_chosen(_("Space default"), choices.presets, member.preset_id) if has_model else (),
    )


def _roles(member: SpaceMembership) -> tuple[ChoiceView, ...]:
    role = "observer" if member.participation == "observer" else member.role
    return tuple(ChoiceView(value=key, label=label, is_chosen=key == role) for key, label in INVITED_ROLES.items())


def _about(row: PicturedMember, *, is_self: bool) -> str:
    member = row.member
    words: list[str] = [_("You")] if is_self else []
    if member.status != "active":
        reason = member.removed_reason
        words.append(_("Removed: {reason}", reason=reason) if reason else _("Removed"))
    else:
        words += [ROLES[member.role]] if member.role in ROLES and not is_self else []
        words += [PARTICIPATIONS[member.participation]] if member.participation in PARTICIPATIONS else []
    if member.kind == "character" and not row.has_card:
        words.append(_("Card deleted"))
    return " · ".join(map(translated, words))


def _address(row: PicturedMember, viewer: Viewer) -> str:
    """The page of the card, for those who have it."""
    is_theirs = row.character_owner is None or row.character_owner == viewer.user_id
    return f"/characters/{row.member.character_id}" if row.has_card and is_theirs else ""


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:g}"


def _chosen(
    otherwise: str, rows: Sequence[PersonaLine] | Sequence[Provider] | Sequence[Preset], chosen: UUID | None
) -> tuple[ChoiceView, ...]:
    """The rows to choose from, behind what counts where none is chosen."""
    return ChoiceView(value="", label=otherwise, is_chosen=chosen is None), *(
        ChoiceView(
            value=str(row.id),
            label=shown_name(row.label if isinstance(row, PersonaLine) else row.name),
            is_chosen=row.id == chosen,
        )
        for row in rows
    )
