"""A chat preset of SillyTavern as a prompt template of RisuAI's."""

from __future__ import annotations

from collections.abc import Iterator

from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.settings import PromptCard
from tavernkit.values import JsonObject

NOT_TOLD = ("dialogueExamples", "charPersonality", "scenario", "worldInfoAfter")
"""What RisuAI tells in other places: examples with the chat, the others with description and lore."""

PLACES = {
    "chatHistory": PromptCard(type="chat"),
    "worldInfoBefore": PromptCard(type="lorebook"),
    "charDescription": PromptCard(type="description"),
    "personaDescription": PromptCard(type="persona"),
}


def convert_preset(preset: JsonObject) -> tuple[PromptCard, ...]:
    """The cards for what a preset has switched on, in its order; anything that cannot be read is passed over.

    The beginning of the reply becomes a card behind everything else, for models that can be given one.
    """
    source = LooseObject(preset, ReportBuilder())
    prompts: dict[str, LooseObject] = {}
    for prompt in source.objects("prompts"):
        prompts.setdefault(prompt.text("identifier"), prompt)
    order = next(iter(source.objects("prompt_order")), None)
    cards: list[PromptCard] = []
    for entry in () if order is None else order.objects("order"):
        named = prompts.get(entry.text("identifier"))
        if entry.flag("enabled") and named is not None:
            cards += _cards(named)
    prefill = source.text("assistant_prefill")
    if prefill:
        cards.append(PromptCard(type="postEverything"))
        guarded = f"{{{{#if {{{{prefill_supported}}}}}}}}{prefill}{{{{/if}}}}"
        cards.append(PromptCard(type="plain", kind="main", text=guarded, role="bot"))
    return tuple(cards)


def _cards(prompt: LooseObject) -> Iterator[PromptCard]:
    identifier = prompt.text("identifier")
    if identifier in NOT_TOLD:
        return
    if identifier in PLACES:
        yield PLACES[identifier]
        return
    written = PromptCard(type="plain", text=prompt.text("content"), role=_role(prompt.text("role", default="system")))
    match identifier:
        case "main":
            yield written.with_(kind="main")
        case "jailbreak" | "nsfw":
            yield written.with_(type="jailbreak")
        case _:
            yield written.with_(name=prompt.text("name"))


def _role(role: str) -> str:
    """SillyTavern's role under RisuAI's name for it."""
    return {"assistant": "bot", "user": "user"}.get(role, "system")
