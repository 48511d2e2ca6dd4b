"""A script that is tried on a text, or on a message of a story; nothing is changed by it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from anyio import to_thread
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Character, User
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Message
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.prompting.macros import macro_environment
from tavernkit.playground.story.prompting.scripts import (
    PLACEMENTS,
    MessageToShow,
    StoryTexts,
    Voice,
    load_texts,
    risuai_scene,
)
from tavernkit.playground.story.scripts.documents import ScriptTrialOut, TryScript, decoded, pattern_problem
from tavernkit.risuai import RisuSettings
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.risuai.regex_scripts import ScriptMode, apply_scripts
from tavernkit.sillytavern.regex_scripts import Placement, RegexScript, macro_expander, run_script
from tavernkit.sillytavern.scene import shared_macros

SECONDS = 1.0
NOBODY_SAID = MessageToShow(
    id=UUID(int=0), member_id=UUID(int=0), role="", text="", created_at=datetime(2026, 1, 1, tzinfo=UTC)
)
_NAMELESS = Voice(member_id=UUID(int=0), platform="sillytavern", engine="1.19", card=Character(name="Char"))
_MODES: dict[str, ScriptMode] = {
    "editinput": "editinput",
    "editoutput": "editoutput",
    "editprocess": "editprocess",
    "edittrans": "edittrans",
}
RunsOn = Literal["display", "prompt", "stored", "edit"]


async def try_script(runtime: Runtime, viewer: Viewer, wanted: TryScript) -> ScriptTrialOut:
    """What a script makes of a text, and where it would run on the message that the text is from."""
    texts, message = StoryTexts(voices={}, user=User(name="User")), NOBODY_SAID
    if wanted.conversation_id is not None:
        async with runtime.database.read() as session:
            texts, message = await _message(session, viewer, wanted.conversation_id, wanted.message)
    else:
        message = message.with_(text=wanted.text)
    script = decoded(wanted.kind, presentable(wanted.data))
    return await to_thread.run_sync(_tried, script, texts, message)


async def _message(
    session: AsyncSession, viewer: Viewer, conversation_id: UUID, seq: int | None
) -> tuple[StoryTexts, MessageToShow]:
    conversation, _access = await conversation_for(session, conversation_id, viewer, Access.READ)
    query = select(Message).where(Message.conversation_id == conversation_id, Message.visibility != "hidden")
    query = query.order_by(Message.seq.desc()).limit(1) if seq is None else query.where(Message.seq == seq)
    row = existing(await session.scalar(query), _("message"))
    message = MessageToShow(
        id=row.id,
        seq=row.seq,
        member_id=row.membership_id,
        role=row.role,
        text=row.content,
        created_at=row.created_at,
        in_prompts=row.visibility == "normal",
    )
    return await load_texts(session, conversation, message)


def _tried(script: RegexScript | RisuRegexScript, texts: StoryTexts, message: MessageToShow) -> ScriptTrialOut:
    voice = texts.voice_of(message.member_id) or _NAMELESS
    problem = pattern_problem(script)
    problems = [problem] if problem else []
    if problem:
        result = message.text
    elif isinstance(script, RegexScript):
        result = _by_sillytavern(script, texts, voice, message, problems)
    else:
        result = _by_risuai(script, texts, voice, message, problems)
    is_message = message is not NOBODY_SAID and bool(message.role)
    return ScriptTrialOut(
        text=storable(message.text),
        result=storable(result),
        changed=result != message.text,
        runs_on=_runs_on(script, message) if is_message else [],
        depth=message.depth,
        problems=problems,
    )


def _by_sillytavern(
    script: RegexScript, texts: StoryTexts, voice: Voice, message: MessageToShow, problems: list[str]
) -> str:
    environment = macro_environment(
        voice.card,
        texts.user,
        variables=texts.variables(),
        group=texts.group,
        clock=lambda: texts.at(message.created_at),
        seed=message.id.int,
    )
    return run_script(
        script.with_(disabled=False),
        message.text,
        expand=macro_expander(shared_macros(voice.engine), environment),
        character_override=voice.card.display_name,
        on_problem=lambda problem: problems.append(storable(problem.message)),
    )


def _by_risuai(
    script: RisuRegexScript, texts: StoryTexts, voice: Voice, message: MessageToShow, problems: list[str]
) -> str:
    mode = _MODES.get(script.type, "editdisplay")
    character = (voice.character or from_card(voice.card)).with_(scripts=(), triggers=())
    alone = voice.with_(character=character, risuai=RisuSettings(scripts=(script.with_(type=mode),)), modules=())
    scene = risuai_scene(texts, alone, texts.at(message.created_at), message.id.int)
    place = next((place for place, id in enumerate(texts.chat) if id == message.id), -1)
    options = CBSOptions(is_display=mode == "editdisplay", quietly=True)
    made = apply_scripts(message.text, scene, mode, chat_index=place, options=options)
    problems += [storable(warning.message) for warning in made.warnings]
    return made.text


def _runs_on(script: RegexScript | RisuRegexScript, message: MessageToShow) -> list[RunsOn]:
    placement = PLACEMENTS.get(message.role, Placement.SLASH)
    if isinstance(script, RisuRegexScript):
        is_users = placement == Placement.USER_INPUT
        runs: dict[RunsOn, bool] = {
            "display": script.type == "editdisplay",
            "prompt": script.type == "editprocess",
            "stored": script.type == ("editinput" if is_users else "editoutput"),
        }
        return [where for where, does in runs.items() if does]
    if script.disabled:
        return []

    def is_for(*, is_markdown: bool = False, is_prompt: bool = False, is_edit: bool = False) -> bool:
        # What is stored is not yet at any depth.
        depth = message.depth if is_markdown or is_prompt else None
        return script.is_for(placement, is_markdown=is_markdown, is_prompt=is_prompt, is_edit=is_edit, depth=depth)

    found: dict[RunsOn, bool] = {
        "display": is_for(is_markdown=True),
        "prompt": message.in_prompts and is_for(is_prompt=True),
        "stored": is_for(),
        "edit": is_for(is_edit=True),
    }
    return [where for where, does in found.items() if does]
