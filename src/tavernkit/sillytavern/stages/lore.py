"""The second stage: the author's note and the persona, then World Info, which can stand around both."""

from __future__ import annotations

from tavernkit.prompt.context import Context
from tavernkit.prompt.parts import joined, with_source_of
from tavernkit.sillytavern.errors import LoreParseError
from tavernkit.sillytavern.examples import split_dialogues
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt, extension_role
from tavernkit.sillytavern.regex_scripts import Placement, RegexBudget
from tavernkit.sillytavern.scene import Scene, shared_world_info
from tavernkit.sillytavern.stages.chat import SCRIPT_SECONDS, read_further, scripted, user_messages
from tavernkit.sillytavern.stages.layout import arranged, move_to_end, watched_lore
from tavernkit.sillytavern.stages.tracing import EntryMarks
from tavernkit.sillytavern.story import PersonaPosition, is_due, note_text
from tavernkit.sillytavern.world_info import Insertions, Position, ScanTexts, WorldInfoInput, WorldInfoResult
from tavernkit.sillytavern.world_info.fields import DEFAULT_DEPTH

AUTHORS_NOTE = "2_floating_prompt"
PERSONA = "PERSONA_DESCRIPTION"


def lore(ctx: Context) -> None:
    """Find out which entries wake up, and put them, the note and the persona where they belong."""
    scene = ctx.platform(Scene)
    scene.note_is_due = is_due(scene.story.note, user_messages(ctx))
    _put_note(scene, note_text(scene.story.note, scene.story.character_note))
    _put_persona_in_chat(ctx, scene)
    result = _after_scripts(ctx, scene, _scan(ctx, scene))
    scene.world = ctx.lore_result = result
    ctx.instrument("lore_scan", activated=len(result.activated_entries), tokens=result.total_tokens)
    for warning in result.warnings:
        ctx.warn(warning.code, warning.message, error=LoreParseError(warning.message), **warning.where)
    if result.overflowed:
        ctx.warn(
            "lore_over_budget",
            f"Some lore did not fit into its budget of {result.budget} tokens.",
            budget=result.budget,
        )
    scene.insertions = arranged(ctx, scene, result).insertions
    _place(ctx, scene, scene.insertions)
    _put_persona_around_note(ctx, scene)
    if scene.story.is_stable:
        move_to_end(ctx, scene)


def _put_note(scene: Scene, text: str) -> None:
    note = scene.story.note
    if scene.note_is_due:
        scene.put(
            ExtensionPrompt(
                key=AUTHORS_NOTE,
                content=text,
                position=note.position,
                depth=note.depth,
                role=note.role,
                scan=note.scan,
            )
        )


def _put_persona_in_chat(ctx: Context, scene: Scene) -> None:
    place, persona = scene.story.persona, ctx.require_user().persona
    if persona and place.position is PersonaPosition.AT_DEPTH:
        scene.put(
            ExtensionPrompt(
                key=PERSONA, content=persona, position="chat", depth=place.depth, role=place.role, scan=True
            )
        )


def _put_persona_around_note(ctx: Context, scene: Scene) -> None:
    """Outside of what World Info has put around the note, and never scanned."""
    persona = ctx.require_user().persona
    if not (persona and scene.note_is_due):
        return
    note = scene.extension_prompts[AUTHORS_NOTE].content
    match scene.story.persona.position:
        case PersonaPosition.TOP_OF_NOTE:
            _put_note(scene, joined("\n", (persona, note)))
        case PersonaPosition.BOTTOM_OF_NOTE:
            _put_note(scene, joined("\n", (note, persona)))


def _scan(ctx: Context, scene: Scene) -> WorldInfoResult:
    story, card = scene.story, scene.card
    # What is found is kept with the build and can be asked for more: nothing in it may hold the build in turn.
    estimate, model, expand = ctx.estimator.estimate, ctx.model, scene.detached_expand
    own = ctx.require_character().character_book
    scanned = [prompt.content for prompt in scene.extension_prompts.values() if prompt.scan and prompt.content]
    if story.quiet is not None:
        scanned.append(story.quiet.text)
    scan_input = WorldInfoInput(
        chat_length=len(scene.environment.chat),
        books=ctx.books,
        character_books=(*story.character_books, *([own] if own else [])),
        chat_books=story.chat_books,
        persona_books=story.persona_books,
        settings=story.world_info,
        # A text completion sets the reply aside before lore gets its share, a chat completion does not.
        max_context=ctx.preset.context_window_tokens if scene.api == "chat" else ctx.preset.max_prompt_tokens,
        count_tokens=lambda text: estimate(str(text), model),
        random=ctx.rng.random,
        texts=ScanTexts(
            persona_description=card.persona,
            character_description=card.description,
            character_personality=card.personality,
            character_depth_prompt=card.depth_prompt,
            scenario=card.scenario,
            creator_notes=card.creator_notes,
        ),
        injections=tuple(scene.expand(text) for text in scanned),
        trigger=ctx.generation_type,
        character_file=story.character_file,
        character_tags=story.character_tags,
        forced=story.forced_lore,
        timed=story.timed,
        expand=lambda text: expand(text, "keys of lore entries"),
        expand_at=expand,
        mark=EntryMarks(scene) if ctx.is_traced else None,
    )
    if story.freeze_lore:
        scene.known_lore = shared_world_info().entries_of(scan_input, story.layout_state.frozen)
    if story.is_stable:
        scan_input = scan_input.with_(expand_at=watched_lore(scene.touched, scene.changing, expand))
    engine = shared_world_info()
    reach = engine.reach(scan_input)
    while len(scene.turns) < reach and read_further(ctx, scene):
        pass
    said = [story.world_info.message_text(turn.name, turn.text) for turn in reversed(scene.turns)]
    places = tuple([turn.index for turn in reversed(scene.turns)])
    return engine.scan(scan_input.with_(messages=tuple(said), places=places))


def _after_scripts(ctx: Context, scene: Scene, result: WorldInfoResult) -> WorldInfoResult:
    """What woke up, as the regex scripts for World Info leave it; what they leave empty is not inserted."""
    scripts = [script for script in scene.story.regex_scripts if Placement.WORLD_INFO in script.placement]
    if not scripts or not result.activations:
        return result
    budget = RegexBudget(SCRIPT_SECONDS)
    activations = tuple(
        activation.with_(
            content=scripted(
                ctx,
                scene,
                activation.content,
                Placement.WORLD_INFO,
                activation.entry.chat_depth if activation.entry.position == Position.AT_DEPTH else None,
                budget,
            )
        )
        for activation in result.activations
    )
    return result.with_(activations=activations)


def _place(ctx: Context, scene: Scene, where: Insertions) -> None:
    # Each entry goes on top of what is there, so the one that comes last stands first.
    for example in where.examples:
        found = tuple(with_source_of(dialogue, example.content) for dialogue in split_dialogues(example.content))
        scene.dialogues = (*found, *scene.dialogues) if example.placement == "before" else (*scene.dialogues, *found)
    if scene.note_is_due:
        note = scene.extension_prompts[AUTHORS_NOTE].content
        texts = (joined("\n", where.note_top), note, joined("\n", where.note_bottom))
        # One line break less at either end, where an empty text has left it.
        _put_note(scene, joined("\n", texts).removeprefix("\n").removesuffix("\n"))
    scene.outlets = {name: joined("\n", contents) for name, contents in where.outlets.items()}
    ctx.outlets.update({name: str(text) for name, text in scene.outlets.items()})
    if scene.story.quiet is not None and scene.story.quiet.skip_depth_lore:
        return
    for (depth, role), contents in _at_depth(where).items():
        scene.put(
            ExtensionPrompt(
                key=f"customDepthWI_{depth}_{role}",
                content=joined("\n", contents),
                position="chat",
                depth=depth,
                role=extension_role(role),
            )
        )


def _at_depth(where: Insertions) -> dict[tuple[int, int], list[str]]:
    """Contents by depth and role. What has no depth goes to the default one, with the others there."""
    placed: dict[tuple[int, int], list[str]] = {}
    for insertion in where.at_depth:
        place = DEFAULT_DEPTH if insertion.depth is None else insertion.depth, insertion.role
        placed[place] = [*insertion.entries, *placed.get(place, ())]
    return placed
