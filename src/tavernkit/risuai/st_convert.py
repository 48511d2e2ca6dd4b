"""A chat preset of SillyTavern as a prompt template of RisuAI's, and the other way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tavernkit.reading import ImportReport, LooseObject, ReportBuilder
from tavernkit.risuai.settings import PromptCard, RisuSettings
from tavernkit.values import Json, JsonObject

NOT_TOLD = ("dialogueExamples", "charPersonality", "scenario", "worldInfoAfter")
"""What RisuAI tells in other places: examples with the chat, the others with description and lore."""

PLACES = {
    "chatHistory": PromptCard(type="chat"),
    "worldInfoBefore": PromptCard(type="lorebook"),
    "charDescription": PromptCard(type="description"),
    "personaDescription": PromptCard(type="persona"),
}

EVERY_CHARACTER = 100001
MARKERS: Mapping[str, tuple[str, ...]] = {
    "chat": ("dialogueExamples", "chatHistory"),
    "lorebook": ("worldInfoBefore", "worldInfoAfter"),
    "description": ("charDescription", "charPersonality", "scenario"),
    "persona": ("personaDescription",),
}
"""SillyTavern's markers for what a card shows at once."""
WHOLE_CHAT = (0, -1000)


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


def to_chat_preset(settings: RisuSettings) -> tuple[dict[str, Json], ImportReport]:
    """A chat preset of SillyTavern with the prompts of RisuAI's preset in their order, and what has no place there.

    CBS stays as it is written; SillyTavern knows only some of it.
    """
    report = ReportBuilder()
    prompts = list(_prompts(settings, report))
    if settings.scripts:
        report.ignored("regex", "regex scripts are not taken over")
    order: list[Json] = [{"identifier": prompt["identifier"], "enabled": is_on} for prompt, is_on in prompts]
    return {
        "openai_max_context": settings.max_context,
        "openai_max_tokens": settings.max_response,
        "prompts": [prompt for prompt, _ in prompts],
        "prompt_order": [{"character_id": EVERY_CHARACTER, "order": order}],
    }, report.build("chat_preset")


def _prompts(settings: RisuSettings, report: ReportBuilder) -> Iterator[tuple[dict[str, Json], bool]]:
    """The prompts, and whether each is switched on."""
    used: set[str] = set()
    for place, card in enumerate(template_of(settings)):
        path = "formatingOrder" if settings.template is None else f"promptTemplate[{place}]"
        match card.type:
            case "plain" | "jailbreak" | "cot":
                wanted = "main" if card.kind == "main" else card.type
                is_own = wanted in ("main", "jailbreak") and wanted not in used
                used.add(wanted)
                yield _prompt(card, wanted if is_own else f"card-{place}", is_own=is_own), is_on(card, settings)
            case _ if card.type not in MARKERS:
                report.ignored(path, f"SillyTavern has no prompt for a card of the type {card.type}")
            case _ if card.type in used:
                report.ignored(path, f"SillyTavern has one place for {card.type}, which an earlier card has taken")
            case _:
                used.add(card.type)
                if card.inner_format:
                    report.ignored(f"{path}.innerFormat", "SillyTavern has no text around a marker")
                if card.type == "chat" and (card.range_start not in WHOLE_CHAT or card.range_end is not None):
                    report.ignored(f"{path}.rangeStart", "SillyTavern sends the whole chat in one place")
                for name in MARKERS[card.type]:
                    yield {"identifier": name, "name": name, "system_prompt": True, "marker": True}, True


def _prompt(card: PromptCard, identifier: str, *, is_own: bool) -> dict[str, Json]:
    return {
        "identifier": identifier,
        "name": card.name or identifier,
        "role": "assistant" if card.role == "bot" else card.role,
        "content": card.text,
        "system_prompt": is_own,
    }


def is_on(card: PromptCard, settings: RisuSettings) -> bool:
    """Whether the settings send a card of this type."""
    return {"jailbreak": settings.jailbreak_on, "cot": settings.chain_of_thought}.get(card.type, True)


def template_of(settings: RisuSettings) -> Sequence[PromptCard]:
    """The cards of a preset's template; those of an older preset say the same as its order of parts."""
    if settings.template is not None:
        return settings.template
    cards = {
        "main": PromptCard(type="plain", kind="main", text=settings.main_prompt),
        "jailbreak": PromptCard(type="jailbreak", text=settings.jailbreak),
        "globalNote": PromptCard(type="plain", kind="globalNote", name="globalNote", text=settings.global_note),
        "description": PromptCard(type="description"),
        "personaPrompt": PromptCard(type="persona"),
        "chats": PromptCard(type="chat"),
        "lorebook": PromptCard(type="lorebook"),
    }
    return [cards[part] for part in settings.order if part in cards]
