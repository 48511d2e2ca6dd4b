"""From the sources of a prompt's characters to what pages say of them, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import Literal, TypeAlias

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.edge.presenting.prompt_preview import CAUSES
from tavernkit.playground.story.previews.links import EntryPlaces
from tavernkit.playground.story.prompting.fitting import PARTS, part_name
from tavernkit.prompt.sources import (
    AnySource,
    FromArtifact,
    FromBlock,
    FromCard,
    FromChat,
    FromHistory,
    FromInjection,
    FromLore,
    FromMacro,
    FromPersona,
    FromPreset,
    FromRegex,
    FromTemplate,
    FromTrigger,
    KeyFound,
    TextSource,
)
from tavernkit.values import Value

SourceGroup: TypeAlias = Literal["card", "persona", "preset", "lore", "history", "added", "macro", "script", "template"]

GROUPS: Mapping[SourceGroup, str] = {
    "card": _("Character"),
    "persona": _("Persona"),
    "preset": _("Preset"),
    "lore": _("Lore"),
    "history": _("Chat"),
    "added": _("Notes and injections"),
    "macro": _("Macro"),
    "script": _("Script"),
    "template": _("Template"),
}
"""What the colours of a prompt stand for, in the order of the legend."""

GROUP_OF: Mapping[str, SourceGroup] = {
    "card": "card",
    "persona": "persona",
    "preset": "preset",
    "lore": "lore",
    "history": "history",
    "chat": "added",
    "injection": "added",
    "artifact": "added",
    "macro": "macro",
    "regex": "script",
    "trigger": "script",
    "template": "template",
    "block": "template",
}
"""The group of each kind of source."""

SLOT_GROUPS: Mapping[str, SourceGroup] = {
    **dict.fromkeys(("charDescription", "charPersonality", "scenario", "description", "example"), "card"),
    **dict.fromkeys(("personaDescription", "persona", "personaPrompt"), "persona"),
    **dict.fromkeys(("worldInfoBefore", "worldInfoAfter", "lore", "lorebook"), "lore"),
    **dict.fromkeys(("history", "message", "chat", "continued", "continue_prefill", "last_line"), "history"),
    **dict.fromkeys(("injection", "depth", "depth_prompt", "authornote", "authorNote", "memory", "artifact"), "added"),
    **dict.fromkeys(("story_string", "new_chat", "new_example", "new_example_chat", "chat_start"), "template"),
}
"""The group that most of a block is of, by its slot; what is not here is the preset's."""

_CARD_FIELDS = {
    "description": _("Description"),
    "personality": _("Personality"),
    "scenario": _("Scenario"),
    "mes_example": _("Example messages"),
    "first_mes": _("First message"),
    "system_prompt": _("Main prompt"),
    "post_history_instructions": _("Post-history instructions"),
    "name": _("Name"),
    "nickname": _("Nickname"),
}
_CHAT_FIELDS = {
    "note": _("Author's note"),
    "character_note": _("Character's note"),
    "quiet_prompt": _("Quiet prompt"),
    "scenario": _("Scenario of the conversation"),
    "group.scenario_override": _("Scenario of the conversation"),
    "examples": _("Example messages of the conversation"),
    "group.mes_example_override": _("Example messages of the conversation"),
    "system_prompt": _("Main prompt of the conversation"),
    "memory": _("Memory"),
}
MOST_STEPS = 8
"""So many steps are named that have brought a text to its place."""


class SourceView(Value, frozen=True, kw_only=True):
    """A source: its group, what it is in a few words, and what else is known of it. `href` is where it is edited."""

    group: SourceGroup
    words: str
    facts: tuple[tuple[str, str], ...] = ()
    href: str = ""


def source_view(source: AnySource, href: str = "") -> SourceView:
    """The source as a card of the page shows it."""
    facts = ((label, value) for label, value in _facts(source) if value)
    return SourceView(group=GROUP_OF[source.kind], words=source_words(source), facts=tuple(facts), href=href)


@singledispatch
def source_words(source: TextSource) -> str:
    """What a source is, without what brought it here."""
    return shown_name(source.kind)


@source_words.register
def _card(source: FromCard) -> str:
    field = _CARD_FIELDS.get(source.field, source.field)
    return translated(_("{field} of {name}", field=field, name=shown_name(source.character)))


@source_words.register
def _persona(source: FromPersona) -> str:
    return translated(_("Persona of {name}", name=shown_name(source.user)))


@source_words.register
def _preset(source: FromPreset) -> str:
    name = shown_name(source.name) if source.name else PARTS.get(source.prompt, source.prompt)
    return translated(_("Preset: {name}", name=name))


@source_words.register
def _template(source: FromTemplate) -> str:
    return translated(_("Template: {name}", name=source.what))


@source_words.register
def _chat(source: FromChat) -> str:
    return translated(_CHAT_FIELDS.get(source.field, source.field))


@source_words.register
def _injection(source: FromInjection) -> str:
    return translated(_("Injection {name}", name=shown_name(source.id)))


@source_words.register
def _lore(source: FromLore) -> str:
    return translated(_("Lore entry {name}", name=entry_name(source.name, source.entry)))


@source_words.register
def _history(source: FromHistory) -> str:
    number = str(source.message + 1)
    if source.swipe is None:
        return translated(_("Message {number}", number=number))
    return translated(_("Message {number}, swipe {swipe}", number=number, swipe=str(source.swipe + 1)))


@source_words.register
def _artifact(source: FromArtifact) -> str:
    return translated(_("Artifact {name}", name=shown_name(source.artifact)))


@source_words.register
def _macro(source: FromMacro) -> str:
    return translated(_("Macro {call}", call=_call(source)))


@source_words.register
def _regex(source: FromRegex) -> str:
    return translated(_("Regex script {name}", name=shown_name(source.script)))


@source_words.register
def _trigger(source: FromTrigger) -> str:
    return translated(_("Trigger {name}", name=shown_name(source.place)))


@source_words.register
def _block(source: FromBlock) -> str:
    return translated(part_name(None, {"id": source.id}))


def slot_group(slot: str | None, *, has_lore: bool) -> SourceGroup:
    """The group that most of a block is of, as far as its slot says it."""
    return "lore" if has_lore else SLOT_GROUPS.get(slot or "", "preset")


def entry_name(name: str | None, entry: str) -> str:
    """What people call a lore entry."""
    return shown_name(name) if name else translated(_("Entry {number}", number=entry))


def _facts(source: TextSource) -> Iterator[tuple[str, str]]:
    match source:
        case FromCard():
            yield _("Version of the card"), source.version
        case FromLore():
            yield _("Lorebook"), shown_name(source.book) if source.book else ""
            yield _("Reason"), translated(_reason(source))
            yield _("Key"), source.key or ""
            yield _("Key found in"), "" if source.found is None else _place(source.found)
        case FromHistory():
            yield _("Part"), source.part
        case FromArtifact():
            yield _("Version"), "" if source.version is None else str(source.version)
        case FromMacro():
            yield _("Stands in"), "" if source.inside is None else _with_steps(source.inside)
            yield _("Arguments from"), "; ".join(dict.fromkeys(_with_steps(one) for one in source.of))
        case FromRegex():
            yield _("Has changed"), "" if source.inside is None else _with_steps(source.inside)
        case FromBlock():
            yield _("Stage"), source.stage
        case _:
            pass
    yield _("Came through"), " → ".join(_step(one) for one in source.through[:MOST_STEPS])


def _reason(source: FromLore) -> str:
    found = {"key": _("a key matched"), "recursion": _("a key matched in another entry")}
    return CAUSES.get(source.cause) or found.get(source.cause or "") or ""


def _place(found: KeyFound) -> str:
    if found.message is not None:
        number = str(found.message + 1)
        if found.offset is None:
            return translated(_("Message {number}", number=number))
        return translated(_("Message {number}, character {offset}", number=number, offset=found.offset + 1))
    if found.entry:
        return translated(_("Lore entry {name}", name=shown_name(found.entry)))
    return found.text


def _call(source: FromMacro) -> str:
    return "{{" + "::".join((source.name, *source.arguments)) + "}}"


def _step(step: FromMacro | FromRegex) -> str:
    words = source_words(step)
    if step.inside is None:
        return words
    return translated(_("{step} in {place}", step=words, place=source_words(step.inside)))


def _with_steps(source: TextSource) -> str:
    return " → ".join([source_words(source), *map(_step, source.through[:MOST_STEPS])])


def source_href(source: TextSource, addresses: Mapping[TextSource, str]) -> str:
    """Where people edit what a source is, or the text that it stands in; empty where they cannot."""
    found = addresses.get(source.with_(through=()))
    if found is None and isinstance(source, FromMacro | FromRegex) and source.inside is not None:
        return source_href(source.inside, addresses)
    return found or ""


def entry_href(book: str, entry: str, places: EntryPlaces) -> str:
    """Where people edit an entry of a lorebook, or the book in a card that it is in; empty where they cannot."""
    if found := places.entries.get((book, entry)):
        lorebook_id, entry_id = found
        return f"/lorebooks/{lorebook_id}/entries/{entry_id}"
    return f"/characters/{places.card_books[book]}/lorebook" if book in places.card_books else ""
