"""Who takes part: one card, or several that make a group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tavernkit import example
from tavernkit.characters import Character, load
from tavernkit.cli.errors import UsageError, about, display_name
from tavernkit.cli.files import read_input, read_noted
from tavernkit.errors import ParseError
from tavernkit.prompt.message import Message
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.sillytavern.groups import GroupMember, StoryGroup, read_group
from tavernkit.sillytavern.regex_scripts import embedded_scripts
from tavernkit.values import Json, JsonObject, Value

EXAMPLE = "ottoline.json"


class CastFiles(Value, frozen=True, kw_only=True):
    """The characters at hand under the names of their files, which of them speaks, and the group they are, if any."""

    members: tuple[GroupMember, ...]
    speaker: GroupMember
    group: StoryGroup | None = None
    reports: tuple[ImportReport, ...] = ()

    @property
    def character(self) -> Character:
        return self.speaker.character

    @property
    def character_file(self) -> str:
        return Path(self.speaker.avatar).stem

    @property
    def book_name(self) -> str:
        """The name of the book that the card is linked to."""
        return LooseObject(self.character.extensions, ReportBuilder()).text("world")

    def greetings(self) -> tuple[Message, ...]:
        """How a new chat begins: everybody who has a greeting says it."""
        return tuple(
            Message(
                role="assistant",
                name=member.character.display_name,
                content=member.character.first_mes,
                metadata={} if len(self.members) == 1 else {"original_avatar": member.avatar},
            )
            for member in self.members
            if member.character.first_mes
        )


def read_cast(cards: Sequence[Path], speaker: str | None) -> CastFiles:
    """Read the cards; without any, the cast is the example's. The first card speaks unless somebody else is named."""
    reports: list[ImportReport] = []
    members = [GroupMember.of(read_noted(card, _read, reports), card.name) for card in cards]
    if not members:
        members = [GroupMember.of(example.character(), EXAMPLE)]
    avatars = [member.avatar for member in members]
    for avatar in avatars:
        if avatars.count(avatar) > 1:
            raise UsageError(
                f"Two cards have the file name {avatar}. The members of a group need different file names."
            )
    return CastFiles(members=tuple(members), speaker=_speaker(members, speaker), reports=tuple(reports))


def in_group(cast: CastFiles, file: Path | None, chat_metadata: JsonObject) -> CastFiles:
    """The cast as the group that the file describes, or as one of all cards; a single card without a file is no group.

    A card belongs to the member whose card file has its name, whatever the ending: cards travel in several formats.
    """
    if file is None and len(cast.members) == 1:
        return cast
    report = ReportBuilder()
    document: JsonObject = {"members": [member.avatar for member in cast.members]}
    if file is not None:
        data = read_input(file)
        with about(file):
            document, avatars = _members_of(parse_json(data, what="The group"))
            cast = _renamed(cast, avatars)
    group = read_group(document, cast.members, chat_metadata=chat_metadata, report=report)
    if file is not None:
        cast = cast.with_(reports=(*cast.reports, report.build("group", file=display_name(file))))
    return cast.with_(group=group)


def _members_of(document: Json) -> tuple[JsonObject, list[Json]]:
    if isinstance(document, dict) and isinstance(document.get("members"), list):
        return document, document["members"]
    raise ParseError("This is not a group file of SillyTavern: it has no list of members.")


def _renamed(cast: CastFiles, avatars: Sequence[Json]) -> CastFiles:
    known = {Path(avatar).stem: avatar for avatar in avatars if isinstance(avatar, str)}
    if cast.character_file not in known:
        raise ParseError(
            f"{cast.speaker.avatar} is not in the group. Its members are {', '.join(known.values()) or 'nobody'}. Use"
            " their card files with --card, and one of them with --speaker."
        )

    def renamed(member: GroupMember) -> GroupMember:
        return member.with_(avatar=known.get(Path(member.avatar).stem, member.avatar))

    return cast.with_(members=tuple(map(renamed, cast.members)), speaker=renamed(cast.speaker))


def _read(data: bytes) -> tuple[Character, ImportReport]:
    bundle = load(data)
    character = bundle.card.character
    notes = ReportBuilder()
    embedded_scripts(character.extensions, notes, "data.extensions")
    return character, bundle.report.with_(notes=(*bundle.report.notes, *notes.build("card").notes))


def _speaker(members: Sequence[GroupMember], wanted: str | None) -> GroupMember:
    if wanted is None:
        return members[0]
    for member in members:
        card = member.character
        names = {card.name.casefold(), card.display_name.casefold(), Path(member.avatar).stem.casefold()}
        if names & {wanted.casefold(), Path(wanted).stem.casefold()}:
            return member
    at_hand = ", ".join(member.name for member in members)
    raise UsageError(f"No card has the name {wanted!r}. --speaker must be one of: {at_hand}.")
