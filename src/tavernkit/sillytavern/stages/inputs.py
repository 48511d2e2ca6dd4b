"""The first stage: the application's hooks, then everything later stages read, in SillyTavern's terms."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tavernkit.prompt.context import Context
from tavernkit.prompt.sources import FromInjection
from tavernkit.prompt.tracing import traced
from tavernkit.sillytavern.errors import UnknownMemberError
from tavernkit.sillytavern.examples import split_dialogues
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt, role_named
from tavernkit.sillytavern.groups import DepthPrompt, GroupMember, JoinedCard, group_depth_prompts, speaker_card
from tavernkit.sillytavern.macros.environment import AuthorsNotes, CardFields, Environment, MacroSettings, ModelState
from tavernkit.sillytavern.presets import ReasoningTemplate
from tavernkit.sillytavern.scene import CardTexts, Scene
from tavernkit.sillytavern.stages.chat import ChatView, read_turns, whole_chat
from tavernkit.sillytavern.stages.macro_warnings import warn_in
from tavernkit.sillytavern.stages.tracing import trace_inputs
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.text.js_strings import js_trim
from tavernkit.text.seeded import string_hash

DEPTH_PROMPT = "DEPTH_PROMPT"


def hooks(ctx: Context) -> None:
    """Let the application change the inputs, see that nothing essential is missing, and set the scene."""
    ctx.hooks.run_before_build(ctx)
    ctx.validate()
    scene = ctx.platform(Scene)
    scene.take_preset(ctx.preset)
    scene.on_problem = warn_in(ctx)
    scene.environment = _environment(ctx, scene)
    scene.is_traced = ctx.is_traced
    if scene.is_traced:
        scene.plain = scene.story, scene.environment
        trace_inputs(ctx, scene)
        scene.environment = _environment(ctx, scene)
    scene.card = card = _card_texts(ctx, scene)
    if scene.story.group is not None:
        scene.environment = _with_shown(scene.environment, card)
        if scene.plain is not None:
            shown = {name: str(text) for name, text in msgspec.structs.asdict(card).items()}
            scene.plain = scene.plain[0], _with_shown(scene.plain[1], CardTexts(**shown))
    scene.dialogues = split_dialogues(scene.card.examples)
    read_turns(ctx, scene)
    scene.bias = scene.expand(
        _reply_bias(whole_chat(ctx), scene.story.settings.user_prompt_bias, generation_type=ctx.generation_type)
    )
    _put_depth_prompts(ctx, scene)
    for prompt in scene.story.extension_prompts:
        scene.put(prompt)
    for injection in ctx.injections:
        scene.put(
            ExtensionPrompt(
                key=injection.id,
                content=traced(injection.content, FromInjection(id=injection.id))
                if ctx.is_traced
                else injection.content,
                position=injection.position,
                depth=injection.depth,
                role=role_named(injection.role),
                scan=injection.scan,
            )
        )


def _with_shown(environment: Environment, card: CardTexts) -> Environment:
    """With the texts of the cards that a group shows."""
    shown = environment.card.with_(
        description=card.description,
        personality=card.personality,
        scenario=card.scenario,
        message_examples=card.examples,
    )
    return environment.with_(card=shown)


def _environment(ctx: Context, scene: Scene) -> Environment:
    story, settings = scene.story, scene.story.settings
    card = ctx.require_character()
    preset = ctx.preset
    return Environment(
        user_name=ctx.require_user().name,
        character_name=card.name,
        group=None if story.group is None else story.group.macro_group,
        card=CardFields(
            description=card.description,
            personality=card.personality,
            scenario=story.scenario or card.scenario,
            first_message=card.first_mes,
            alternate_greetings=card.alternate_greetings,
            message_examples=story.examples or card.mes_example,
            system_prompt=story.system_prompt or card.system_prompt,
            post_history_instructions=card.post_history_instructions,
            depth_prompt=_speaker(ctx, scene).depth_prompt.text,
            creator_notes=card.creator_notes,
            version=card.character_version,
        ),
        persona=ctx.require_user().persona,
        chat=ChatView(ctx),
        chat_id_hash=string_hash(story.chat_id),
        variables=ctx.variables,
        settings=MacroSettings(
            instruct=settings.instruct,
            context=settings.context,
            system_prompt=settings.sysprompt,
            # The template alone: what a build gives back has no more than the types of its fields say.
            reasoning=msgspec.convert(settings.reasoning, ReasoningTemplate, from_attributes=True),
            prefer_character_prompt=settings.prefer_character_prompt,
            prefer_character_jailbreak=settings.prefer_character_jailbreak,
            collapse_newlines=settings.collapse_newlines,
        ),
        model=ModelState(
            name=ctx.model or "",
            api=scene.api,
            max_context=preset.context_window_tokens,
            max_response=preset.reserved_response_tokens,
        ),
        generation_type=ctx.generation_type,
        input_text=ctx.message,
        outlets=ctx.outlets,
        notes=AuthorsNotes(chat=story.note.text, character=story.character_note.text if story.character_note else ""),
        clock=scene.touched.watching(ctx.clock) if story.is_stable else ctx.clock,
        zone=story.zone,
        locale=story.locale,
        random=scene.touched.watching(ctx.rng.random) if story.is_stable else ctx.rng.random,
    )


def _speaker(ctx: Context, scene: Scene) -> GroupMember:
    """Who answers, with what its card says for groups and depths."""
    group = scene.story.group
    if group is None:
        return GroupMember.of(ctx.require_character(), scene.story.character_file or "")
    if scene.story.speaker is not None:
        try:
            return group.find(scene.story.speaker)
        except UnknownMemberError as error:
            ctx.fail(error)
    name = ctx.require_character().name
    speaking = next((member for member in group.present if member.name == name), None)
    if speaking is None:
        ctx.fail(UnknownMemberError(f"{name} is not in the group: pass the speaker's avatar in Story(speaker=…)."))
    return speaking


def _card_texts(ctx: Context, scene: Scene) -> CardTexts:
    story, card, speaker = scene.story, ctx.require_character(), _speaker(ctx, scene)

    def text(written: str, *, name: str = "", quietly: bool = False) -> str:
        return scene.watched(name, lambda: scene.expand_card(js_trim(written), card.name, quietly=quietly))

    # In this order, and each text once: macros may change variables and draw numbers.
    persona = text(ctx.require_user().persona, name="persona")
    if story.group is None:
        shown = JoinedCard(
            description=text(card.description, name="description"),
            personality=text(card.personality, name="personality"),
            scenario=text(story.scenario or card.scenario, name="scenario"),
            mes_example=text(story.examples or card.mes_example),
        )
    else:
        shown = speaker_card(story.group, speaker.avatar, expand=scene.expand_card)
    return CardTexts(
        persona=persona,
        description=shown.description,
        personality=shown.personality,
        scenario=shown.scenario,
        examples=shown.mes_example,
        # `{{original}}` in these two is answered when they take the place of the preset's own text.
        system_prompt=text(story.system_prompt or card.system_prompt, quietly=True),
        post_history=text(card.post_history_instructions, quietly=True),
        depth_prompt=text(speaker.depth_prompt.text),
        creator_notes=text(card.creator_notes),
    )


def _put_depth_prompts(ctx: Context, scene: Scene) -> None:
    group, speaker = scene.story.group, _speaker(ctx, scene)
    notes = () if group is None else group_depth_prompts(group, speaker.avatar, expand=scene.expand_card)
    for number, note in enumerate(notes):
        scene.put(_depth_prompt(f"{DEPTH_PROMPT}_{number}", note, scene))
    if not notes:
        scene.put(_depth_prompt(DEPTH_PROMPT, speaker.depth_prompt.with_(text=scene.card.depth_prompt), scene))


def _depth_prompt(key: str, note: DepthPrompt, scene: Scene) -> ExtensionPrompt:
    return ExtensionPrompt(
        key=key, content=note.text, position="chat", depth=note.depth, role=note.role, scan=scene.story.note.scan
    )


def _reply_bias(newest_first: Iterable[ChatTurn], default: str, *, generation_type: str) -> str:
    """What the newest message of the user or a narrator asks for, else what the user's settings ask for.

    Hidden messages are asked, too: a hidden one may be there for nothing else.
    """
    if generation_type in ("impersonate", "continue"):
        return ""
    for place, turn in enumerate(newest_first):
        is_swiped = generation_type == "swipe" and place == 0
        if not is_swiped and (turn.is_user or turn.is_system or turn.is_narrator):
            return turn.bias if turn.bias.strip() else default
    return default
