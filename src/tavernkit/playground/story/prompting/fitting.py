"""Whether a prompt has room for what was said, what it has left out, and what people call its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from tavernkit import Block, Plan
from tavernkit.errors import TavernKitError, TokenBudgetExceeded
from tavernkit.hooks import BuildHooks
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed, ngettext
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.story.prompting.building import BuiltPrompt, build_on_sillytavern, build_prompt, variables_in
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.presets import budget_for, chosen_preset
from tavernkit.prompt.trimming import TrimReport
from tavernkit.risuai import RisuSettings as RisuSettings
from tavernkit.sillytavern.presets import ChatPreset

PARTS = {
    "main": _("Main prompt"),
    "nsfw": _("Auxiliary prompt"),
    "jailbreak": _("Post-history instructions"),
    "enhanceDefinitions": _("Enhance definitions"),
    "personaDescription": _("Persona"),
    "charDescription": _("Character description"),
    "charPersonality": _("Character personality"),
    "scenario": _("Scenario"),
    "worldInfoBefore": _("Lore before character"),
    "worldInfoAfter": _("Lore after character"),
    "new_example": _("New example chat"),
    "new_example_chat": _("New example chat"),
    "example": _("Example message"),
    "new_chat": _("New chat"),
    "chat_start": _("New chat"),
    "history": _("Message"),
    "message": _("Message"),
    "story_string": _("Story string"),
    "last_line": _("Last line"),
    "post_history": _("Post-history instructions"),
    "injection": _("Injection at depth"),
    "depth": _("Injection at depth"),
    "bias": _("Start of the reply"),
    "squashed": _("Merged prompts"),
    "impersonation": _("Impersonation prompt"),
    "continued": _("Continued reply"),
    "continue_prefill": _("Continued reply"),
    "continue_nudge": _("Continue nudge"),
    "group_nudge": _("Group nudge"),
    "send_if_empty": _("Empty message replacement"),
    "quiet": _("Quiet prompt"),
    "description": _("Character description"),
    "persona": _("Persona"),
    "personaPrompt": _("Persona"),
    "lore": _("Lore"),
    "lorebook": _("Lore"),
    "plain": _("Prompt"),
    "globalNote": _("Global note"),
    "authornote": _("Author's note"),
    "authorNote": _("Author's note"),
    "memory": _("Memory"),
    "cot": _("Chain of thought"),
    "depth_prompt": _("Injection at depth"),
    "postEverything": _("Post everything"),
    "trigger": _("Trigger"),
}


def part_name(slot: str | None, source: Mapping[str, Any]) -> str:
    """What people call this part of a prompt; one that the preset brings is called by its own name."""
    kind, _colon, number = str(source.get("id", "")).partition(":")
    if kind == "message" and number.isdecimal():
        return _("Message {number}", number=str(int(number) + 1))
    own = slot or kind
    return PARTS.get(slot or "") or PARTS.get(kind) or (shown_name(own) if own else _("Prompt part"))


LEFT_OUT = "left_out"
"""Where a run that has ended well says how many things of which kind did not fit into its prompt."""

LARGEST_NAMED = 3
_LAST_MESSAGE = _("the last message")
_CHAT = ("history", "continued", "continue_prefill")
_EXAMPLES = ("new_example", "example")


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
        return build_prompt(inputs, is_traced=True)
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
    """What did not fit, for people: `12 messages, 1 example`."""
    said: Mapping[str, Callable[[int], str]] = {
        "messages": lambda count: ngettext("{count} message", "{count} messages", count),
        "lore": lambda count: ngettext("{count} lore entry", "{count} lore entries", count),
        "examples": lambda count: ngettext("{count} example", "{count} examples", count),
        "prompts": lambda count: ngettext("{count} prompt", "{count} prompts", count),
    }
    return listed([words(counts[kind]) for kind, words in said.items() if kind in counts])


def _messages_left_out(prompt: BuiltPrompt, evicted: int) -> int:
    """How many messages stand before the first that is sent: SillyTavern reads no further than what may fit."""
    sent = sorted(
        int(number)
        for kind, _colon, number in (str(block.source.get("id")).partition(":") for block in prompt.plan.enabled_blocks)
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
    parts_named = [
        ngettext("{name} ({count} token)", "{name} ({count} tokens)", size, name=name) for name, size in largest
    ]
    what_to_do = (
        _("Choose a shorter preset, or raise the context size of the provider.")
        if window >= inputs.provider.context_tokens
        else _("Choose a shorter preset, or raise the context size in the preset or the settings.")
    )
    return PromptTooLargeError(
        _(
            "The prompt is {over} tokens too large: it needs {needed} tokens, but the context size of {window} leaves "
            "{room} for it. The largest parts are {parts}. {advice}",
            over=max(needed - room, 1),
            needed=needed,
            room=room,
            window=window,
            parts=listed(parts_named),
            advice=what_to_do,
        ),
        provider_id=inputs.provider.id,
    )


def _ingredients(inputs: PromptInputs) -> Iterator[tuple[str, str]]:
    """What a prompt of RisuAI's is made of, before macros are expanded."""
    card, preset = inputs.cast.character, inputs.presets.preset
    yield PARTS["charDescription"], card.description
    yield PARTS["charPersonality"], card.personality
    yield PARTS["scenario"], card.scenario
    yield PARTS["persona"], inputs.cast.user.persona
    if isinstance(preset, RisuSettings):
        yield PARTS["main"], preset.main_prompt
        for one in preset.template or ():
            yield shown_name(one.name or one.type), one.text
    if isinstance(preset, ChatPreset):
        for prompt in preset.prompts:
            yield shown_name(prompt.name or prompt.identifier), prompt.content
    for message in inputs.history.last(1):
        yield _LAST_MESSAGE, message.content


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
            yield _LAST_MESSAGE, block


def _window(inputs: PromptInputs) -> int:
    own = inputs.presets.preset
    if isinstance(own, RisuSettings):
        return budget_for(inputs.settings.llm, inputs.provider, own.max_context, own.max_response)[0]
    return chosen_preset(inputs.presets, inputs.settings, inputs.provider).preset.context_window_tokens
