"""Regex scripts in a story: those that people keep beside cards and presets, and what all of them do to a text that is
shown, sent or edited.

What is shown is never stored. It depends on nothing but the story: a macro in a script sees the time at which the
message was written, and the same chance every time.
"""

from __future__ import annotations

import json
import random
import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import blake2b
from threading import Lock
from typing import Generic, TypeVar
from uuid import UUID

from anyio import to_thread
from sqlalchemy import func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Character, User, Variables
from tavernkit.playground.base.accounts.profile import time_of
from tavernkit.playground.base.database import models
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.access.access import story_user
from tavernkit.playground.story.paths.state import State, state_at
from tavernkit.playground.story.paths.variables import VARIABLES, read_globals
from tavernkit.playground.story.presets.queries import AnyPreset, decode_preset, default_key
from tavernkit.playground.story.prompting.cast import NOBODY, Platform, library_character, person_of, platform_for
from tavernkit.playground.story.prompting.macros import macro_environment
from tavernkit.playground.story.settings_schema.models import StorySettings
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai import RisuSettings
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuChat, RisuMessage
from tavernkit.risuai.module import Module
from tavernkit.risuai.regex_script import RisuRegexScript, read_scripts
from tavernkit.risuai.regex_scripts import ScriptMode
from tavernkit.risuai.regex_scripts import apply_scripts as apply_risuai_scripts
from tavernkit.risuai.scene import RisuScene
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.sillytavern.presets import ChatPreset, MasterExport, TextPreset
from tavernkit.sillytavern.regex_scripts import (
    Placement,
    RegexBudget,
    RegexScript,
    RegexScripts,
    apply_scripts,
    embedded_scripts,
    macro_expander,
)
from tavernkit.sillytavern.scene import shared_macros
from tavernkit.text.time_budget import TimeBudget
from tavernkit.values import Json, JsonObject, Value

SILLYTAVERN, RISUAI = "sillytavern", "risuai"
"""Where the data of a list of scripts has those of each platform."""

PAGE_SECONDS = 2.0
"""What scripts may take together for the messages that are shown at once."""

PLACEMENTS = {"user": Placement.USER_INPUT, "assistant": Placement.AI_OUTPUT, "system": Placement.SLASH}
"""What scripts of SillyTavern take a message for; what a narrator says comes from a slash command there."""

_MACRO = re.compile(r"\{\{(?!(?:user|char|match)\}\})|<(?:user|char|bot)>", re.IGNORECASE)
_CBS = re.compile(r"\{\{|\{#|<(?:user|char|bot)>", re.IGNORECASE)

T = TypeVar("T")


class ScriptPlace(Value, frozen=True, kw_only=True):
    """Where a script is kept: its place in the list of a person, a space, a character or a preset."""

    kind: Platform
    name: str
    scope: str
    holder_id: UUID
    place: int


class OwnScripts(Value, frozen=True, kw_only=True):
    """The scripts for all spaces of an owner, then those of the space; and where they are kept."""

    sillytavern: tuple[RegexScript, ...] = ()
    risuai: tuple[RisuRegexScript, ...] = ()
    places: tuple[ScriptPlace, ...] = ()


class _Kept(Generic[T]):
    """What was made last, by what it was made from."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[object, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: object) -> T | None:
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
            return self._made.get(key)

    def keep(self, key: object, made: T) -> T:
        with self._lock:
            self._made[key] = made
            while len(self._made) > self._most:
                self._made.popitem(last=False)
        return made


_lists: _Kept[OwnScripts] = _Kept(256)
_cards: _Kept[Character] = _Kept(64)
_risuai_cards: _Kept[RisuCharacter] = _Kept(64)
_presets: _Kept[AnyPreset] = _Kept(64)


async def own_scripts(session: AsyncSession, owner_id: UUID, space_id: UUID) -> OwnScripts:
    """The scripts that stand beside cards and presets."""
    lists = models.ScriptList
    rows = list(await session.scalars(select(lists).where(or_(lists.owner_id == owner_id, lists.space_id == space_id))))
    rows.sort(key=lambda row: row.space_id is not None)
    found = [_decoded_list(row) for row in rows]
    return OwnScripts(
        sillytavern=tuple(script for one in found for script in one.sillytavern),
        risuai=tuple(script for one in found for script in one.risuai),
        places=tuple(place for row, one in zip(rows, found, strict=True) for place in _places(row, one)),
    )


def _places(row: models.ScriptList, scripts: OwnScripts) -> Iterator[ScriptPlace]:
    scope, holder_id = ("global", row.owner_id) if row.space_id is None else ("space", row.space_id)
    if holder_id is not None:
        yield from _numbered("sillytavern", [script.scriptName for script in scripts.sillytavern], scope, holder_id)
        yield from _numbered("risuai", [script.comment for script in scripts.risuai], scope, holder_id)


def places_in(extensions: JsonObject, scope: str, holder_id: UUID) -> Iterator[ScriptPlace]:
    """Where the scripts are kept that a card or a preset brings along."""
    return _numbered("sillytavern", [script.scriptName for script in embedded_scripts(extensions)], scope, holder_id)


def _numbered(kind: Platform, names: Iterable[str], scope: str, holder_id: UUID) -> Iterator[ScriptPlace]:
    for place, name in enumerate(names):
        yield ScriptPlace(kind=kind, name=name, scope=scope, holder_id=holder_id, place=place)


def _decoded_list(row: models.ScriptList) -> OwnScripts:
    key = row.id, row.settings_version
    known = _lists.get(key)
    return known if known is not None else _lists.keep(key, decode_list(row.data))


def decode_list(data: JsonObject) -> OwnScripts:
    """Stored scripts as the library knows them."""
    source = LooseObject(data, ReportBuilder())
    return OwnScripts(
        sillytavern=embedded_scripts({"regex_scripts": data.get(SILLYTAVERN, [])}),
        risuai=read_scripts(source.objects(RISUAI)),
    )


def preset_scripts(preset: AnyPreset | None) -> tuple[RegexScript, ...]:
    """The scripts of SillyTavern in a preset."""
    part = preset.preset if isinstance(preset, MasterExport) else preset
    return embedded_scripts(part.extensions) if isinstance(part, ChatPreset | TextPreset) else ()


class Voice(Value, frozen=True, kw_only=True):
    """A character of a story, and the scripts that are in use where it speaks; none where they are switched off."""

    member_id: UUID
    platform: Platform
    engine: EngineName
    card: Character
    scripts: RegexScripts = RegexScripts()
    character: RisuCharacter | None = None
    risuai: RisuSettings = RisuSettings()
    modules: tuple[Module, ...] = ()

    def in_mode(self, mode: ScriptMode) -> bool:
        """Whether a script, or for the page a trigger, of RisuAI does anything in this mode."""
        if self.character is None:
            return False
        listed = (
            *self.risuai.scripts,
            *self.character.scripts,
            *(one for each in self.modules for one in each.scripts),
        )
        if any(script.type == mode and script.pattern for script in listed):
            return True
        triggers = (*self.character.triggers, *(one for each in self.modules for one in each.triggers))
        return mode == "editdisplay" and any(trigger.type == "display" for trigger in triggers)


class MessageToShow(Value, frozen=True, kw_only=True):
    """A message whose texts are to be shown. `depth` counts from the newest; None where no script asks for it, and for
    a message that is not `in_prompts`."""

    id: UUID
    seq: int = 0
    member_id: UUID
    role: str
    text: str
    reasoning: str = ""
    created_at: datetime
    in_prompts: bool = True
    depth: int | None = None


class ShownText(Value, frozen=True, kw_only=True):
    """A text as it is shown, and what is wrong with scripts that should have changed it."""

    text: str
    problems: tuple[str, ...] = ()


class ShownTexts(Value, frozen=True, kw_only=True):
    """The same for a message and its reasoning."""

    text: str
    reasoning: str = ""
    problems: tuple[str, ...] = ()


class StoryTexts(Value, frozen=True, kw_only=True):
    """What scripts need to change texts of a conversation. `otherwise` is the voice for what people and the narrator
    say. The rest is read only for texts that a script is for: the `user`, who is the `person`; variables; and `chat`,
    the newest messages as RisuAI knows them, by their ids."""

    voices: Mapping[UUID, Voice]
    otherwise: Voice | None = None
    person: models.SpaceMembership | None = None
    user: User = NOBODY
    group: tuple[str, ...] = ()
    state: Mapping[str, Json] = {}
    global_variables: Mapping[str, Json] = {}
    chat: Mapping[UUID, RisuMessage] = {}
    zone: datetime | None = None

    def voice_of(self, member_id: UUID) -> Voice | None:
        return self.voices.get(member_id, self.otherwise)

    def at(self, moment: datetime) -> datetime:
        """The moment in the owner's time zone, as far as somebody has asked for it."""
        return moment if self.zone is None else moment.astimezone(self.zone.tzinfo)

    def variables(self) -> Variables:
        return Variables(dict(self.state), dict(self.global_variables))


async def show_messages(
    session: AsyncSession, conversation_id: UUID, messages: Sequence[MessageToShow]
) -> Mapping[UUID, ShownTexts]:
    """The messages that scripts change for the page, without those that no script is for. They follow each other, the
    oldest first."""
    conversation = await session.get_one(models.Conversation, conversation_id)
    space = await session.get_one(models.Space, conversation.space_id)
    authors = {message.member_id for message in messages}
    texts = await _with_voices(session, conversation, space, authors)
    if not any(_may_change(texts.voice_of(message.member_id), message) for message in messages):
        return {}
    if any(_has_depth(script) for voice in texts.voices.values() for script in voice.scripts):
        messages = await _with_depths(session, conversation_id, messages)
    wanted = [message for message in messages if _may_change(texts.voice_of(message.member_id), message)]
    texts = await _with_state(session, conversation, space, texts, wanted)
    return await to_thread.run_sync(_show_all, texts, wanted)


def _may_change(voice: Voice | None, message: MessageToShow) -> bool:
    if voice is None:
        return False
    if voice.platform == "risuai":
        return voice.in_mode("editdisplay") or (voice.character is not None and _CBS.search(message.text) is not None)
    return any(_is_for(script, message) for script in voice.scripts)


def _is_for(script: RegexScript, message: MessageToShow) -> bool:
    places = [PLACEMENTS.get(message.role, Placement.SLASH), *([Placement.REASONING] if message.reasoning else [])]
    return script.markdownOnly and not script.is_idle and any(place in script.placement for place in places)


def _show_all(texts: StoryTexts, messages: Sequence[MessageToShow]) -> Mapping[UUID, ShownTexts]:
    budgets = RegexBudget(PAGE_SECONDS), TimeBudget(PAGE_SECONDS)
    shown = {}
    # The newest first: where the time is not enough for all, it is the old ones that are shown as they are.
    for message in reversed(messages):
        voice = texts.voice_of(message.member_id)
        if voice is None:
            continue
        if voice.platform == "risuai":
            scene = risuai_scene(texts, voice, texts.at(message.created_at), message.id.int)
            place = next((place for place, id in enumerate(texts.chat) if id == message.id), -1)
            role = "user" if message.role == "user" else "char"
            options = CBSOptions(is_display=True, chat_role=role, is_first_message=message.seq == 1, quietly=True)
            said = show_in_scene(scene, message.text, place=place, options=options, budget=budgets[1])
            shown[message.id] = ShownTexts(text=said.text, reasoning=message.reasoning, problems=said.problems)
            continue
        show = partial(show_text, texts, voice, message=message, budget=budgets[0])
        said = show(PLACEMENTS.get(message.role, Placement.SLASH), message.text)
        thought = show(Placement.REASONING, message.reasoning)
        problems = tuple(dict.fromkeys((*said.problems, *thought.problems)))
        shown[message.id] = ShownTexts(text=said.text, reasoning=thought.text, problems=problems)
    return shown


_shown: _Kept[ShownText] = _Kept(4_000)
_LONGEST_KEPT = 20_000


def show_text(
    texts: StoryTexts,
    voice: Voice,
    placement: int,
    text: str,
    *,
    message: MessageToShow,
    budget: RegexBudget,
) -> ShownText:
    """A text as SillyTavern's page shows it: after the scripts for display."""
    chosen = tuple(
        script
        for script in voice.scripts
        if not script.is_idle
        and script.is_for(placement, is_prompt=False, is_markdown=True, is_edit=False, depth=message.depth)
    )
    if not chosen or not text:
        return ShownText(text=text)
    has_macros = _MACRO.search(text) is not None or any(map(_has_macros, chosen))
    key = None if has_macros else _key(voice, texts.user, placement, text, chosen)
    known = None if key is None else _shown.get(key)
    if known is not None:
        return known
    problems: list[str] = []
    environment = macro_environment(
        voice.card,
        texts.user,
        variables=texts.variables(),
        group=texts.group,
        clock=lambda: texts.at(message.created_at),
        seed=message.id.int,
    )
    changed = apply_scripts(
        text,
        RegexScripts(global_=chosen),
        placement,
        expand=macro_expander(shared_macros(voice.engine), environment),
        is_markdown=True,
        depth=message.depth,
        character_override=voice.card.display_name,
        on_problem=lambda problem: problems.append(storable(problem.message)),
        budget=budget,
    )
    made = ShownText(text=changed, problems=tuple(dict.fromkeys(problems)))
    if key is not None and budget.left > 0 and len(changed) <= _LONGEST_KEPT:
        _shown.keep(key, made)
    return made


def _has_macros(script: RegexScript) -> bool:
    return any(_MACRO.search(text) for text in (script.findRegex, script.replaceString, *script.trimStrings))


def _key(voice: Voice, user: User, placement: int, text: str, scripts: Iterable[RegexScript]) -> bytes:
    said = [
        *(voice.engine, voice.card.display_name, user.name, placement, text),
        *((one.id, one.scriptName, one.findRegex, one.replaceString, one.trimStrings, one.substituteRegex)
          for one in scripts),
    ]  # fmt: skip
    return blake2b(json.dumps(said).encode(), digest_size=16).digest()


def show_in_scene(scene: RisuScene, text: str, *, place: int, options: CBSOptions, budget: TimeBudget) -> ShownText:
    """A text as RisuAI's page shows it: after `display` triggers, macros, and the scripts for display."""
    made = apply_risuai_scripts(text, scene, "editdisplay", chat_index=place, options=options, budget=budget)
    problems = dict.fromkeys(storable(warning.message) for warning in made.warnings)
    return ShownText(text=made.text, problems=tuple(problems))


def risuai_scene(texts: StoryTexts, voice: Voice, now: datetime, seed: int) -> RisuScene:
    """A scene of its own for each text: whatever scripts and triggers change in it is gone with it."""
    return RisuScene(
        character=voice.character,
        chat=RisuChat(messages=list(texts.chat.values())),
        settings=voice.risuai,
        now=lambda: now,
        random=random.Random(seed).random,  # noqa: S311 - chance in a story, not a secret
        user_name=texts.user.name,
        persona=texts.user.persona,
        variables=texts.variables(),
        modules=voice.modules,
    )


async def load_texts(
    session: AsyncSession, conversation: models.Conversation, message: MessageToShow
) -> tuple[StoryTexts, MessageToShow]:
    """Everything that a script could ask for about a message, and the message with its depth."""
    space = await session.get_one(models.Space, conversation.space_id)
    texts = await _with_voices(session, conversation, space, {message.member_id})
    (placed,) = await _with_depths(session, conversation.id, [message])
    return await _with_state(session, conversation, space, texts, [placed], always=True), placed


async def typed_text(
    session: AsyncSession,
    conversation: models.Conversation,
    text: str,
    *,
    role: str,
    member_id: UUID,
    now: datetime,
    seed: int,
    is_edit: bool = False,
) -> str:
    """What is stored of a text that somebody has typed or edited, after the scripts for that."""
    space = await session.get_one(models.Space, conversation.space_id)
    texts = await _with_voices(session, conversation, space, {member_id})
    voice = texts.voice_of(member_id)
    placement = PLACEMENTS.get(role, Placement.SLASH)
    if voice is None or not _changes_stored(voice, placement, is_edit=is_edit):
        return text
    message = MessageToShow(id=UUID(int=seed), member_id=member_id, role=role, text=text, created_at=now)
    texts = await _with_state(session, conversation, space, texts, [message])
    return await to_thread.run_sync(partial(_stored_text, texts, voice, placement, message, is_edit=is_edit))


def _changes_stored(voice: Voice, placement: int, *, is_edit: bool) -> bool:
    if voice.platform == "risuai":
        return not is_edit and placement == Placement.USER_INPUT and voice.in_mode("editinput")
    return any(
        script.is_for(placement, is_prompt=False, is_markdown=False, is_edit=is_edit) and not script.is_idle
        for script in voice.scripts
    )


def _stored_text(texts: StoryTexts, voice: Voice, placement: int, message: MessageToShow, *, is_edit: bool) -> str:
    now = texts.at(message.created_at)
    if voice.platform == "risuai":
        scene = risuai_scene(texts, voice, now, message.id.int)
        return storable(apply_risuai_scripts(message.text, scene, "editinput").text)
    environment = macro_environment(
        voice.card,
        texts.user,
        variables=texts.variables(),
        group=texts.group,
        clock=lambda: now,
        seed=message.id.int,
    )
    expand = macro_expander(shared_macros(voice.engine), environment)
    override = voice.card.display_name
    changed = apply_scripts(
        message.text, voice.scripts, placement, expand=expand, is_edit=is_edit, character_override=override
    )
    return storable(changed)


def _has_depth(script: RegexScript) -> bool:
    return script.minDepth is not None or script.maxDepth is not None


async def _with_depths(
    session: AsyncSession, conversation_id: UUID, messages: Sequence[MessageToShow]
) -> list[MessageToShow]:
    """The messages with how many in prompts are newer than each."""
    count = select(func.count()).where(
        models.Message.conversation_id == conversation_id,
        models.Message.seq > messages[-1].seq,
        models.Message.visibility == "normal",
    )
    newer = await session.scalar(count) or 0
    placed = []
    for message in reversed(messages):
        placed.append(message.with_(depth=newer) if message.in_prompts else message)
        newer += message.in_prompts
    return placed[::-1]


async def _with_voices(
    session: AsyncSession, conversation: models.Conversation, space: models.Space, authors: Collection[UUID]
) -> StoryTexts:
    """Who speaks in the conversation, and by which scripts."""
    membership = models.SpaceMembership
    members = list(
        await session.scalars(
            select(membership)
            .where(membership.space_id == space.id, or_(membership.status == "active", membership.id.in_(authors)))
            .order_by(membership.position, membership.id)
        )
    )
    present = [one for one in members if one.kind == "character" and one.status == "active"]
    spoken = [one for one in members if one.kind == "character" and one.id in authors]
    wanted = {one.id: one for one in (*present[:1], *spoken)}
    settings = {one.id: effective(space, member=one, conversation=conversation).settings for one in wanted.values()}
    own = await own_scripts(session, space.owner_id, space.id)
    cards = await _cards_of(session, wanted.values())
    presets = await _presets_of(session, space.owner_id, settings.values())
    default = presets.get(None)
    voices = {
        id: _voice(one, cards[one.character_id], settings[id], presets, default, own)
        for id, one in wanted.items()
        if one.character_id in cards
    }
    return StoryTexts(
        voices=voices,
        otherwise=next((voices[one.id] for one in present if one.id in voices), None),
        person=person_of([one for one in members if one.status == "active"]),
        group=tuple(one.cached_display_name for one in present),
    )


def _voice(
    member: models.SpaceMembership,
    found: tuple[object, Character],
    settings: StorySettings,
    presets: Mapping[UUID | None, AnyPreset],
    default: AnyPreset | None,
    own: OwnScripts,
) -> Voice:
    version, card = found
    card = card.with_(name=member.cached_display_name)
    choice = settings.prompt.platform
    preset = default if settings.model.preset_id is None else presets.get(settings.model.preset_id)
    is_risuai = choice == "auto" and isinstance(preset, RisuSettings)
    platform = "risuai" if is_risuai else platform_for(choice, card)
    voice = Voice(member_id=member.id, platform=platform, engine=settings.prompt.macro_engine, card=card)
    if not settings.prompt.regex_scripts:
        return voice
    if platform == "sillytavern":
        scoped = embedded_scripts(card.extensions)
        return voice.with_(scripts=RegexScripts(global_=own.sillytavern, preset=preset_scripts(preset), scoped=scoped))
    risuai = preset if isinstance(preset, RisuSettings) else RisuSettings()
    modules = (presets.get(id) for id in settings.prompt.modules)
    key = version, card.name
    character = _risuai_cards.get(key) or _risuai_cards.keep(key, from_card(card, id=str(member.id)))
    return voice.with_(
        character=character,
        risuai=risuai.with_(scripts=(*own.risuai, *risuai.scripts)),
        modules=tuple(module for module in modules if isinstance(module, Module)),
    )


async def _cards_of(
    session: AsyncSession, members: Iterable[models.SpaceMembership]
) -> dict[UUID | None, tuple[object, Character]]:
    """The cards by their characters, each with what tells its versions apart; a card is read once, without its lore."""
    row = models.Character
    ids = [one.character_id for one in members]
    versions = await session.execute(
        select(row.id, row.version, row.updated_at).where(row.id.in_(ids), row.status == "ready")
    )
    keys = {key[0]: tuple(key) for key in versions}
    found = {id: _cards.get(key) for id, key in keys.items()}
    missing = [id for id, card in found.items() if card is None]
    if missing:
        for read in await session.scalars(select(row).where(row.id.in_(missing))):
            card = library_character(read).with_(character_book=None)
            found[read.id] = _cards.keep(keys[read.id], card)
    return {id: (keys[id], card) for id, card in found.items() if card is not None}


async def _presets_of(
    session: AsyncSession, owner_id: UUID, settings: Collection[StorySettings]
) -> dict[UUID | None, AnyPreset]:
    """The presets and modules that the settings name, by their ids; under None, the owner's default."""
    chosen = {one.model.preset_id for one in settings}
    default = await _default_preset(session, owner_id) if None in chosen else None
    ids = {*chosen, default, *(id for one in settings for id in one.prompt.modules)} - {None}
    if not ids:
        return {}
    row = models.Preset
    there = select(row.id, row.settings_version).where(row.id.in_(ids), row.trashed_at.is_(None))
    keys = {key[0]: tuple(key) for key in await session.execute(there)}
    found: dict[UUID | None, AnyPreset | None] = {id: _presets.get(key) for id, key in keys.items()}
    missing = [id for id, preset in found.items() if preset is None]
    if missing:
        for read in await session.scalars(select(row).where(row.id.in_(missing))):
            found[read.id] = _presets.keep(keys[read.id], decode_preset(read.kind, read.data)[0])
    if default in found:
        found[None] = found[default]
    return {id: preset for id, preset in found.items() if preset is not None}


async def _default_preset(session: AsyncSession, owner_id: UUID) -> UUID | None:
    """What the owner has named as the default; the preset may be gone."""
    setting: models.SiteSetting | None = await session.get(models.SiteSetting, default_key(owner_id))
    named = None if setting is None else setting.value.get("value")
    return UUID(named) if isinstance(named, str) else None


async def _with_state(
    session: AsyncSession,
    conversation: models.Conversation,
    space: models.Space,
    texts: StoryTexts,
    messages: Sequence[MessageToShow],
    *,
    always: bool = False,
) -> StoryTexts:
    """The same, with what macros may ask for, where there are any."""
    if texts.person is not None:
        texts = texts.with_(user=await story_user(session, texts.person))
    voices = {voice.member_id: voice for one in messages if (voice := texts.voice_of(one.member_id)) is not None}
    is_risuai = any(voice.platform == "risuai" for voice in voices.values())
    has_macros = (
        is_risuai
        or any(_MACRO.search(text) for one in messages for text in (one.text, one.reasoning))
        or any(_has_macros(script) for voice in voices.values() for script in voice.scripts if not script.is_idle)
    )
    if not (has_macros or always):
        return texts
    state = await state_at(session, conversation.id, conversation.last_seq)
    return texts.with_(
        state=_variables_in(state),
        global_variables=await read_globals(session, space.owner_id),
        zone=await time_of(session, space.owner_id, messages[-1].created_at),
        chat=await _risuai_chat(session, conversation) if is_risuai else {},
    )


def _variables_in(state: State) -> dict[str, Json]:
    return {key.removeprefix(VARIABLES): value for key, value in state.items() if key.startswith(VARIABLES)}


MESSAGES_OF_SCRIPTS = 200
"""How much of a chat RisuAI's scripts and triggers can ask for."""


async def _risuai_chat(session: AsyncSession, conversation: models.Conversation) -> dict[UUID, RisuMessage]:
    rows = await session.execute(
        select(models.Message.id, models.Message.role, models.TextContent.content)
        .join(models.TextContent, models.TextContent.id == models.Message.text_id)
        .where(models.Message.conversation_id == conversation.id, models.Message.visibility == "normal")
        .order_by(models.Message.seq.desc())
        .limit(MESSAGES_OF_SCRIPTS)
    )
    newest = [(id, RisuMessage(role="user" if role == "user" else "char", data=text)) for id, role, text in rows]
    return dict(reversed(newest))
