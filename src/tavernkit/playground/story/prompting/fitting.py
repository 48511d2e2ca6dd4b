"""Whether a prompt has room for what was said, what it has left out, and what people call its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from tavernkit import Block, Plan
from tavernkit.errors import TavernKitError, TokenBudgetExceeded
from tavernkit.hooks import BuildHooks
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.story.prompting.building import BuiltPrompt, build_on_sillytavern, build_prompt, variables_in
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.presets import budget_for, chosen_preset
from tavernkit.prompt.trimming import TrimReport
from tavernkit.risuai import RisuSettings as RisuSettings
from tavernkit.sillytavern.presets import ChatPreset

PARTS = {
    "main": "Main prompt",
    "nsfw": "Auxiliary prompt",
    "jailbreak": "Post-history instructions",
    "enhanceDefinitions": "Enhance definitions",
    "personaDescription": "Persona",
    "charDescription": "Character's description",
    "charPersonality": "Character's personality",
    "scenario": "Scenario",
    "worldInfoBefore": "Lore before the character",
    "worldInfoAfter": "Lore behind the character",
    "new_example": "Beginning of an example",
    "new_example_chat": "Beginning of an example",
    "example": "Example",
    "new_chat": "Beginning of the chat",
    "chat_start": "Beginning of the chat",
    "history": "Message",
    "message": "Message",
    "story_string": "Story string",
    "last_line": "Last line",
    "post_history": "Post-history instructions",
    "injection": "Inserted between messages",
    "depth": "Inserted between messages",
    "bias": "Beginning of the reply",
    "squashed": "Several parts in one",
    "impersonation": "How to write for a person",
    "continued": "The reply that goes on",
    "continue_prefill": "The reply that goes on",
    "continue_nudge": "How to go on",
    "group_nudge": "Who speaks in the group",
    "send_if_empty": "In place of an empty message",
    "quiet": "A request beside the story",
    "description": "Character's description",
    "persona": "Persona",
    "personaPrompt": "Persona",
    "lore": "Lore",
    "lorebook": "Lore",
    "plain": "Prompt",
    "globalNote": "Global note",
    "authornote": "Author's note",
    "authorNote": "Author's note",
    "memory": "Memory",
    "cot": "How to think",
    "depth_prompt": "Inserted between messages",
    "postEverything": "Behind everything else",
    "trigger": "What a trigger says",
}


def part_name(slot: str | None, source: Mapping[str, Any]) -> str:
    """What people call this part of a prompt; one that the preset brings is called by its own name."""
    kind, _, number = str(source.get("id", "")).partition(":")
    if kind == "message" and number.isdecimal():
        return f"Message {int(number) + 1}"
    return PARTS.get(slot or "") or PARTS.get(kind) or shown_name(slot or kind or "Part of the prompt")


LEFT_OUT = "left_out"
"""Where a run that has ended well says how many things of which kind did not fit into its prompt."""

LARGEST_NAMED = 3
_CHAT = ("history", "continued", "continue_prefill")
_EXAMPLES = ("new_example", "example")
_NAMES: Mapping[str, tuple[str, str]] = {
    "messages": ("message", "messages"),
    "lore": ("lore entry", "lore entries"),
    "examples": ("example", "examples"),
    "prompts": ("prompt", "prompts"),
}


class PromptTooLargeError(TavernKitError):
    """The prompt does not fit into the context size; the message says what is large, and what to do."""

    def __init__(self, message: str, *, provider_id: UUID) -> None:
        super().__init__(message)
        self.provider_id = provider_id


def check_fits(prompt: BuiltPrompt) -> None:
    """Raise PromptTooLargeError where the request would lack the chat, or a prompt that must be sent.

    SillyTavern sends what is left then: a model would answer to nothing that anybody has said.
    """
    plan, report = prompt.plan, prompt.plan.trim_report
    if report is None:
        return
    has_chat = any(block.slot in _CHAT for block in plan.enabled_blocks)
    lost_chat = not has_chat and any(record.slot in _CHAT for record in report.evictions)
    if not lost_chat and all(warning.code != "mandatory_over_budget" for warning in plan.warnings):
        return
    parts = ((name, block.content) for name, block in _named_parts(prompt, _unsquashed(prompt)))
    raise _too_large(prompt.inputs, report.budget_tokens, _needed(plan, report), parts)


def _needed(plan: Plan, report: TrimReport) -> int:
    """What must be sent, with the last message alone: earlier ones and examples may be left out."""
    newest = next((block.id for block in reversed(plan.blocks) if block.slot in _CHAT), None)
    spared = (one for one in report.evictions if one.slot in (*_CHAT, *_EXAMPLES) and one.block_id != newest)
    return report.initial_tokens - sum(record.token_count for record in spared)


def fitting_prompt(inputs: PromptInputs) -> BuiltPrompt:
    """Build a prompt that is to be sent; raises PromptTooLargeError where it cannot be built small enough."""
    try:
        return build_prompt(inputs)
    except TokenBudgetExceeded as error:
        # RisuAI does not build such a prompt: all that is known of it is what it would be made of.
        raise _too_large(inputs, error.budget, error.actual, _ingredients(inputs)) from error


def count_left_out(prompt: BuiltPrompt) -> dict[str, int]:
    """How many messages, lore entries, examples and prompts did not fit; what fitted whole is not named."""
    report = prompt.plan.trim_report
    slots = [] if report is None else [record.slot for record in report.evictions]
    counts = {
        "messages": _messages_left_out(prompt, slots.count("history")),
        "lore": sum(verdict.reason == "budget" for verdict in prompt.built.result.lore),
        # A dialogue has one beginning; text completions have none.
        "examples": slots.count("new_example") or slots.count("example"),
        "prompts": sum(slot not in (*_CHAT, *_EXAMPLES) for slot in slots),
    }
    return {kind: count for kind, count in counts.items() if count}


def left_out_words(counts: Mapping[str, int]) -> str:
    """What did not fit, for people: `12 messages and 1 example`."""
    return _listed([f"{counts[kind]:,} {names[counts[kind] != 1]}" for kind, names in _NAMES.items() if kind in counts])


def _messages_left_out(prompt: BuiltPrompt, evicted: int) -> int:
    """How many messages stand before the first that is sent: SillyTavern reads no further than what may fit."""
    sent = sorted(
        int(number)
        for kind, _, number in (str(block.source.get("id")).partition(":") for block in prompt.plan.enabled_blocks)
        if kind == "message" and number.isdecimal()
    )
    if not evicted or not sent or prompt.platform != "sillytavern":
        return evicted
    history = prompt.inputs.history
    # In a chat that was read whole, messages that no model reads are among those that count, but not among these.
    readable = len(list(history))
    unread = 0 if readable >= prompt.inputs.settings.prompt.history_messages else len(history) - readable
    # The user's latest message is sent also where others that stand behind it are not.
    is_kept_alone = len(sent) > 1 and sent[1] > sent[0] + 1
    return max(evicted, (sent[1] - 1 if is_kept_alone else sent[0]) - unread)


def _too_large(inputs: PromptInputs, room: int, needed: int, parts: Iterable[tuple[str, str]]) -> PromptTooLargeError:
    """Says what takes most of the room; of the chat, `parts` have only the message that is answered."""
    sizes: dict[str, int] = {}
    estimate = inputs.estimator.estimate
    for name, text in parts:
        sizes[name] = sizes.get(name, 0) + estimate(text, inputs.provider.model)
    largest = sorted(sizes.items(), key=lambda size: -size[1])[:LARGEST_NAMED]
    window = _window(inputs)
    place = "the provider" if window >= inputs.provider.context_tokens else "the preset or in the story's settings"
    return PromptTooLargeError(
        f"The prompt is too large for the model by {max(needed - room, 1):,} tokens: the context size is {window:,} "
        f"tokens, of which {room:,} are left for the prompt, and what must be sent has {needed:,}. "
        f"The largest parts are {_listed([f'{name} ({tokens:,} tokens)' for name, tokens in largest])}. "
        f"Choose a shorter preset, or raise the context size in {place}.",
        provider_id=inputs.provider.id,
    )


def _ingredients(inputs: PromptInputs) -> Iterator[tuple[str, str]]:
    """What a prompt of RisuAI's is made of, before macros are expanded."""
    card, preset = inputs.cast.character, inputs.presets.preset
    yield "Character's description", card.description
    yield "Character's personality", card.personality
    yield "Scenario", card.scenario
    yield "Persona", inputs.cast.user.persona
    if isinstance(preset, RisuSettings):
        yield "Main prompt", preset.main_prompt
        for one in preset.template or ():
            yield shown_name(one.name or one.type), one.text
    if isinstance(preset, ChatPreset):
        for prompt in preset.prompts:
            yield shown_name(prompt.name or prompt.identifier), prompt.content
    for message in inputs.history.last(1):
        yield "the last message", message.content


def _unsquashed(prompt: BuiltPrompt) -> Plan:
    """The plan with its prompts apart, where the preset joins them: joined, nobody sees which is large."""
    chosen = prompt.chosen.preset
    if prompt.platform != "sillytavern" or not isinstance(chosen, ChatPreset) or not chosen.squash_system_messages:
        return prompt.plan
    apart = prompt.chosen.with_(preset=chosen.with_(squash_system_messages=False))
    inputs = prompt.inputs
    variables = variables_in(inputs.state, inputs.global_variables)
    return build_on_sillytavern(inputs, apart, variables, BuildHooks()).plan


def _named_parts(prompt: BuiltPrompt, plan: Plan) -> Iterator[tuple[str, Block]]:
    report, chosen = plan.trim_report, prompt.chosen.preset
    evicted = () if report is None else {record.block_id for record in report.evictions}
    own = {one.identifier: one.name for one in chosen.prompts} if isinstance(chosen, ChatPreset) else {}
    asked = [block for block in plan.blocks if block.enabled or block.id in evicted]
    chat = [block for block in asked if block.slot in _CHAT]
    for block in asked:
        if block.slot not in _CHAT:
            name = own.get(block.slot or "")
            yield shown_name(name) if name else part_name(block.slot, block.source), block
        elif block is chat[-1]:
            yield "the last message", block


def _window(inputs: PromptInputs) -> int:
    own = inputs.presets.preset
    if isinstance(own, RisuSettings):
        return budget_for(inputs.settings.llm, inputs.provider, own.max_context, own.max_response)[0]
    return chosen_preset(inputs.presets, inputs.settings, inputs.provider).preset.context_window_tokens


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
