"""The stages of a text completion: everything that was prepared becomes one text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from tavernkit.errors import MissingInputError, TokenBudgetExceeded
from tavernkit.presets import Preset
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.finishing import report_trimming, settle
from tavernkit.prompt.parts import spans_of
from tavernkit.prompt.sources import AnySource
from tavernkit.prompt.tracing import first_source
from tavernkit.prompt.trimming import EvictionRecord, Trimmer, TrimReport, eviction_record
from tavernkit.sillytavern.errors import InvalidContextTemplateError, InvalidPresetError
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt
from tavernkit.sillytavern.layout import FROZEN, KEPT_SHARE
from tavernkit.sillytavern.presets import TextPreset
from tavernkit.sillytavern.scene import Scene
from tavernkit.sillytavern.stages.chat import affordable_turns
from tavernkit.sillytavern.stages.layout import END, note_move, state_after
from tavernkit.sillytavern.stopping_strings import stopping_strings
from tavernkit.sillytavern.story import PersonaPosition, Story
from tavernkit.sillytavern.text_completion.assembling import assemble_text_prompt
from tavernkit.sillytavern.text_completion.chat_lines import least_line, note_line
from tavernkit.sillytavern.text_completion.request import request_options
from tavernkit.sillytavern.text_completion.scene import TextPiece, TextPrompt, TextScene, TextSpeakers
from tavernkit.sillytavern.text_completion.sequences import is_changing
from tavernkit.sillytavern.turns import ChatTurn

_GROUPS = {
    "message": "history",
    "lore": "history",
    "example": "examples",
    "injection": "history",
    "post_history": "history",
}
"""What may be left out, by the kind of its source."""


SPARE = 0.05
"""The share of its room that a stable layout leaves to what cannot be counted before the text is put together."""

_NO_PRESET = TextPreset()
"""What a scene has until it is given its preset."""


class TextWorkspace(Scene):
    """The workbench of a text completion; `text` is what it is made of, `prompt` the text in its pieces."""

    def __init__(self, story: Story) -> None:
        super().__init__(story, "text")
        self.preset = _NO_PRESET
        self.text: TextScene | None = None
        self.prompt: TextPrompt | None = None
        self._expanded_once: dict[tuple[str, AnySource | None], str] = {}

    def take_preset(self, preset: Preset) -> None:
        if not isinstance(preset, TextPreset):
            raise InvalidPresetError(f"A text completion needs a TextPreset, not a {type(preset).__name__}.")
        self.preset = preset

    def expand_once(self, text: str) -> str:
        """Expand a text that always becomes the same only once: the sequences that stand around every message."""
        # A text with lore is equal to one without.
        if spans_of(text):
            return self.expand(text)
        key = text, first_source(text)
        known = self._expanded_once.get(key)
        if known is not None:
            return known
        expanded = self.expand(text)
        if not is_changing(text):
            self._expanded_once[key] = expanded
        return expanded

    def speakers(self) -> TextSpeakers:
        known = self.environment
        return TextSpeakers(
            settings=self.story.settings,
            user_name=known.user_name,
            character_name=known.character_name,
            group=None if known.group is None else known.group.members,
            generation_type=known.generation_type,
            expand=self.expand_once,
            is_traced=self.is_traced,
        )

    def least_wording(self) -> Callable[[ChatTurn], str]:
        return least_line(self.speakers())


def history(ctx: Context) -> None:
    """Gather what the text is made of; how much of the chat has room is known only when it is put together."""
    scene = ctx.platform(TextWorkspace)
    scene.text = _text_scene(ctx, scene)


def compilation(ctx: Context) -> None:
    """Put the text together within its budget, and make a block of each of its pieces."""
    scene = ctx.platform(TextWorkspace)

    def with_turns(text_scene: TextScene, budget: int) -> TextScene:
        scene.affordable_turns = turns = affordable_turns(ctx, scene, budget)
        is_whole = len(turns) == len(scene.turns) and scene.messages_read >= len(ctx.history)
        if scene.story.is_stable:
            turns = _in_window(ctx, scene, turns, budget, is_whole=is_whole)
            is_whole = is_whole and len(turns) == len(scene.turns)
        return text_scene.with_(turns=turns, has_older=not is_whole, frozen=tuple(scene.frozen))

    is_continue = ctx.generation_type == "continue"
    # Taken away, because it holds the build: a finished one need not wait for the garbage collector.
    text_scene, scene.text = scene.text, None
    if text_scene is None:
        ctx.fail(MissingInputError("the text is assembled after the stage that collects its parts: history"))
    if is_continue:
        text_scene = with_turns(text_scene, ctx.preset.max_prompt_tokens)
    try:
        scene.prompt = prompt = assemble_text_prompt(text_scene, None if is_continue else with_turns)
    except InvalidContextTemplateError as error:
        ctx.fail(error)
    said = {turn.source: turn.text for turn in scene.affordable_turns}
    written = {piece.source for piece in prompt.pieces}
    left_out = [_unwritten(turn) for turn in scene.affordable_turns if turn.source not in written]
    pieces = (*left_out, *prompt.pieces) if scene.story.is_stable else prompt.pieces
    ctx.blocks.extend([_block(ctx, piece, said.get(piece.source), text_scene.kept) for piece in pieces])
    ctx.wording = note_line(scene.speakers())
    if not len(ctx.history):
        ctx.greeting = str(scene.expand(ctx.require_character().first_mes)) or None


def plan_assembly(ctx: Context) -> None:
    """Say where the reply ends and how the request is to be made."""
    scene = ctx.platform(TextWorkspace)
    group, chat = scene.story.group, scene.environment.chat
    stop = stopping_strings(
        scene.story.settings,
        user_name=ctx.require_user().name,
        character_name=ctx.require_character().name,
        group_names=() if group is None else group.macro_group.members,
        is_impersonate=ctx.generation_type == "impersonate",
        is_continue=ctx.generation_type == "continue",
        last_is_user=bool(chat) and chat[-1].is_user,
        api="text",
        expand=scene.expand,
        warn=lambda problem: ctx.warn("stopping_strings", problem),
    )
    ctx.llm_options = {**request_options(ctx, scene.preset, tuple(map(str, stop))), **ctx.llm_options}
    ctx.dialect_options = {"verbatim": True, **ctx.dialect_options}


def trimming(ctx: Context) -> None:
    """Fit what hooks have changed, and say what has fitted and what has not."""
    scene = ctx.platform(TextWorkspace)
    if (
        scene.prompt is not None
        and "".join(block.content for block in ctx.blocks if block.enabled) != scene.prompt.text
    ):
        _fit_what_hooks_changed(ctx)
    settle(ctx)
    sent = {str(block.source.get("id")) for block in ctx.blocks if block.enabled}
    first = min((turn.index for turn in scene.affordable_turns if turn.source in sent), default=0)
    scene.layout_state = state_after(scene, sent, first if scene.story.is_stable else 0)
    report_trimming(ctx, _report(ctx, scene), overflow=_overflow_error(scene.prompt))


def _overflow_error(prompt: TextPrompt | None) -> TokenBudgetExceeded | None:
    if prompt is None or not prompt.exceeds_budget:
        return None
    return TokenBudgetExceeded(
        budget=prompt.budget,
        actual=prompt.mandatory_tokens,
        advice="There is no room for the rest of the chat: shorten the card or raise the context size.",
    )


def _fit_what_hooks_changed(ctx: Context) -> None:
    """The text was fitted before the application's hooks; what they have made of it must fit as well."""
    budget = ctx.preset.max_prompt_tokens
    try:
        result = Trimmer("group_order").trim(ctx.blocks, budget=budget, estimator=ctx.estimator, model_hint=ctx.model)
    except TokenBudgetExceeded as error:
        ctx.warn("mandatory_over_budget", str(error), error=error)
        return
    ctx.blocks = list(result.blocks)


def _in_window(
    ctx: Context, scene: TextWorkspace, turns: Sequence[ChatTurn], budget: int, *, is_whole: bool
) -> tuple[ChatTurn, ...]:
    """The turns from the first one that was sent last; where they do not fit, so few that the next ones do.

    They are counted in their least wording; what the sequences add to the first and the last has room in `SPARE`.
    """
    estimate, wording = ctx.estimator.estimate, scene.least_wording()
    added = [prompt.content for prompt in scene.extension_prompts.values() if prompt.position == "chat"]
    added += [one.content for one in scene.frozen]
    room = (1 - SPARE) * (budget - sum(estimate(str(text), ctx.model) for text in added if text))
    costs = {turn.source: estimate(str(wording(turn)), ctx.model) for turn in turns}
    if is_whole and sum(costs.values()) <= KEPT_SHARE * room:
        return tuple(turns)
    start = scene.story.layout_state.first_message
    window = [turn for turn in turns if turn.index >= start]
    if ctx.generation_type == "continue":
        # Its room is not known yet; it is made from behind.
        return tuple(window or turns)
    if (is_whole or (window and turns[0].index <= start)) and sum(costs[turn.source] for turn in window) <= room:
        return tuple(window)
    left = KEPT_SHARE * room
    kept: list[ChatTurn] = []
    for turn in reversed(turns):
        left -= costs[turn.source]
        if left < 0 and kept:
            break
        kept.append(turn)
    start = kept[-1].index if kept else 0
    scene.frozen = [one for one in scene.frozen if one.is_activated or one.entry.message >= start]
    return tuple(reversed(kept))


def _staying(ctx: Context, scene: TextWorkspace, name: str, text: str) -> str:
    """A text of the story string; one that changes from turn to turn stands behind the chat instead."""
    if not text or name not in scene.changing:
        return text
    note_move(ctx, f"The {name.replace('_', ' ')}", "its place in the story string", END)
    scene.put(ExtensionPrompt(key=f"moved_{name}", content=text, position="chat"))
    return ""


def _unwritten(turn: ChatTurn) -> TextPiece:
    """A message in front of the window."""
    return TextPiece(text=turn.text, source=turn.source, kept=False, reason="behind")


def _text_scene(ctx: Context, scene: TextWorkspace) -> TextScene:
    story, card, where = scene.story, scene.card, scene.insertions
    quiet = story.quiet
    system_prompt, post_history = _system_texts(scene)
    chat = scene.environment.chat
    in_prompt = story.persona.position is PersonaPosition.IN_PROMPT
    system_prompt = _staying(ctx, scene, "system_prompt", system_prompt)
    description = _staying(ctx, scene, "description", card.description)
    personality = _staying(ctx, scene, "personality", card.personality)
    scenario = _staying(ctx, scene, "scenario", card.scenario)
    persona = _staying(ctx, scene, "persona", card.persona if in_prompt else "")
    speakers = scene.speakers()
    if story.is_stable:
        # Examples that come and go with the length of the chat would change the beginning of the prompt.
        speakers = speakers.with_(settings=story.settings.with_(pin_examples=True))
    return TextScene(
        **msgspec.structs.asdict(speakers),
        system_prompt=system_prompt,
        post_history=post_history,
        description=description,
        personality=personality,
        scenario=scenario,
        persona=persona,
        world_info_before=where.before_character,
        world_info_after=where.after_character,
        dialogues=scene.dialogues,
        kept=ctx.user_message if ctx.keep_user_message else None,
        chat_length=len(chat),
        last_is_user=bool(chat) and chat[-1].is_user,
        extension_prompts=tuple(
            prompt.with_(content=scene.expand(prompt.content)) for prompt in scene.extension_prompts.values()
        ),
        quiet_prompt="" if quiet is None else scene.expand(quiet.text),
        quiet_to_loud=quiet is not None and quiet.loud,
        quiet_name=(quiet.name or None) if quiet is not None else None,
        bias=scene.bias,
        max_context=ctx.preset.context_window_tokens,
        max_response=ctx.preset.reserved_response_tokens,
        count_tokens=lambda text: ctx.estimator.estimate(str(text), ctx.model),
    )


def _system_texts(scene: TextWorkspace) -> tuple[str, str]:
    """The system prompt and what follows the chat: the card's where it is preferred, else the user's own.

    As there, `{{original}}` gives the user's own words as they stand, and only those of a system prompt in front of
    instruct sequences are expanded once more.
    """
    settings, card = scene.story.settings, scene.card
    own = settings.sysprompt
    if not own.enabled:
        return "", ""
    system_prompt = scene.watched("system_prompt", lambda: _system_prompt(scene))
    if settings.prefer_character_jailbreak and card.post_history:
        return system_prompt, scene.expand(card.post_history, original=own.post_history)
    return system_prompt, scene.expand_card(own.post_history, scene.environment.character_name)


def _system_prompt(scene: TextWorkspace) -> str:
    settings, card = scene.story.settings, scene.card
    own = settings.sysprompt
    if settings.prefer_character_prompt and card.system_prompt:
        system_prompt = scene.expand(card.system_prompt, original=own.content)
    else:
        system_prompt = scene.expand_card(own.content, scene.environment.character_name)
    return scene.expand(system_prompt, original=own.content) if settings.instruct.enabled else system_prompt


def _block(ctx: Context, piece: TextPiece, said: str | None, must_keep: str | None) -> Block:
    """A piece of the text; of a message it is also known what was said, without what the template writes around it."""
    kind = piece.source.partition(":")[0]
    metadata: dict[str, str] = {}
    if piece.reason:
        metadata["left_out"] = piece.reason
    if said is not None:
        metadata["said"] = str(said)
    return ctx.new_block(
        source=piece.source,
        slot="history" if kind == "message" else FROZEN if kind == "lore" else kind,
        role=piece.role,
        content=piece.text,
        enabled=piece.kept,
        removable=kind in _GROUPS and piece.source != must_keep,
        token_budget_group=_GROUPS.get(kind, "system"),
        metadata=metadata,
    )


def _report(ctx: Context, scene: TextWorkspace) -> TrimReport:
    evictions = tuple(_evictions(ctx, scene))
    final = ctx.estimator.estimate("".join(block.content for block in ctx.blocks if block.enabled), ctx.model)
    return TrimReport(
        strategy="group_order",
        budget_tokens=ctx.preset.max_prompt_tokens,
        initial_tokens=final + sum(record.token_count for record in evictions),
        final_tokens=final,
        evictions=evictions,
    )


def _evictions(ctx: Context, scene: TextWorkspace) -> Iterator[EvictionRecord]:
    """What was left out; a message that was never written has been counted in its least wording, which is enough."""
    wording = scene.least_wording()
    turns = {turn.text: turn for turn in scene.affordable_turns}
    for block in ctx.blocks:
        if not block.enabled and block.metadata.get("left_out") != "stripped":
            turn = turns.get(block.content) if block.metadata.get("left_out") == "behind" else None
            text = block.content if turn is None else str(wording(turn))
            yield eviction_record(
                block,
                ctx.estimator.estimate(text, ctx.model),
                "group_overflow" if block.token_budget_group == "examples" else "budget_exceeded",
            )
