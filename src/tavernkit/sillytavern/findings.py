"""What a build of SillyTavern's says of what is not in its prompt, and of what it was built from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

from tavernkit.characters.character import Character, User
from tavernkit.lore.book import Book
from tavernkit.lore.verdicts import LazyVerdicts
from tavernkit.presets import Preset
from tavernkit.prompt.context import Context
from tavernkit.prompt.facts import (
    card_facts,
    common_facts,
    listed,
    mark_of,
    persona_facts,
    shown,
    simple_fields,
    variable_facts,
)
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.reasons import EntryCount, ExplainedEntry, FactGroup, Findings, UnsentPrompt
from tavernkit.sillytavern.chat_completion.entries import known_prompts, prompt_order
from tavernkit.sillytavern.chat_completion.unsent import off_prompts
from tavernkit.sillytavern.presets import ChatPreset, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScripts
from tavernkit.sillytavern.scene import CardTexts, Scene
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.story import PersonaPosition, Story
from tavernkit.sillytavern.world_info import WorldInfoVerdict
from tavernkit.values import JsonObject, Value

_PRESET_FIELDS = (
    *("new_chat_prompt", "new_group_chat_prompt", "new_example_chat_prompt", "group_nudge_prompt"),
    *("continue_nudge_prompt", "impersonation_prompt", "send_if_empty", "wi_format", "scenario_format"),
    *("personality_format", "assistant_prefill", "assistant_impersonation", "names_behavior", "wrap_in_quotes"),
    *("squash_system_messages", "use_sysprompt", "continue_prefill", "continue_postfix", "function_calling"),
)
_USER_SETTINGS = (
    *("pin_examples", "strip_examples", "prefer_character_prompt", "prefer_character_jailbreak"),
    *("always_force_name2", "user_prompt_bias", "collapse_newlines"),
)
_SAME_EVERYWHERE = ("spelling", "unknown", "name")

_OVERRIDES = (
    ("main", "system_prompt", "prefer_character_prompt", "main prompt"),
    ("jailbreak", "post_history", "prefer_character_jailbreak", "post-history instructions"),
)
"""Prompts whose place a text of the card can take: the text, the setting that allows it, and what people call it."""


class _StoryInputs(Value, frozen=True, kw_only=True):
    """What a build was given, without the build."""

    story: Story
    preset: Preset
    plan: Plan
    user: User | None
    cards: tuple[Character, ...]
    card: CardTexts
    books: tuple[Book, ...]
    generation_type: str
    note_is_due: bool
    places: tuple[int, ...]
    variables: Mapping[str, JsonObject]


def findings_of(ctx: Context, scene: Scene, variables: Mapping[str, JsonObject]) -> Findings:
    """The findings of the build that has just ended; nothing in them holds the build, or is worked out yet."""
    story, _ = scene.plain or (scene.story, scene.environment)
    group, world = story.group, scene.world
    common = common_facts(ctx, "sillytavern", scene.api)
    inputs = _StoryInputs(
        story=story,
        preset=ctx.preset,
        plan=ctx.plan or Plan(),
        user=ctx.user,
        cards=(ctx.require_character(), *(() if group is None else (one.character for one in group.cast))),
        card=scene.card,
        books=ctx.books,
        generation_type=ctx.generation_type,
        note_is_due=scene.note_is_due,
        places=tuple([turn.index for turn in reversed(scene.turns)]),
        variables=variables,
    )

    @cache
    def entries() -> tuple[list[ExplainedEntry], list[EntryCount]]:
        return ([], []) if world is None else listed(world.verdicts, partial(_entry, places=inputs.places))

    return Findings(
        lore=LazyVerdicts(lambda: entries()[0]),
        lore_cut=LazyVerdicts(lambda: entries()[1]),
        off=LazyVerdicts(lambda: [*_off(inputs)]),
        facts=LazyVerdicts(lambda: [*common, *_facts(inputs)]),
    )


def _entry(verdict: WorldInfoVerdict, places: Sequence[int]) -> ExplainedEntry:
    entry, place = verdict.entry, verdict.place
    number = None if place is None else place.message
    return ExplainedEntry(
        book=verdict.world,
        entry=entry.id,
        name=entry.name or entry.comment,
        reason=verdict.reason,
        sentence=str(verdict),
        cause=verdict.lore_cause,
        key=verdict.key,
        message=places[number] if number is not None and number < len(places) else None,
        near_miss=verdict.near_miss,
        mark=mark_of(entry.content, entry.keys, entry.secondary_keys, entry.enabled, entry.constant, entry.extensions),
    )


def _off(inputs: _StoryInputs) -> Iterator[UnsentPrompt]:
    preset = inputs.preset
    if isinstance(preset, ChatPreset):
        yield from off_prompts(preset, inputs.plan, inputs.generation_type)
        yield from _overridden(inputs, preset)
    elif isinstance(preset, TextPreset):
        yield from _off_in_text(inputs)
    note = inputs.story.note
    if note.text and not inputs.note_is_due:
        every = "never" if note.interval < 1 else f"with every {note.interval} messages of the user"
        yield UnsentPrompt(
            identifier="authorsNote", name="Author's note", reason="not_due", sentence=f"it is sent {every}"
        )


def _overridden(inputs: _StoryInputs, preset: ChatPreset) -> Iterator[UnsentPrompt]:
    """Which of two texts is sent where the preset and the card each have one."""
    prompts = known_prompts(preset)
    disabled = {toggle.identifier for toggle in prompt_order(preset) if not toggle.enabled}
    for identifier, field, setting, what in _OVERRIDES:
        if not getattr(inputs.card, field):
            continue
        prompt = prompts[identifier]
        of_card = partial(UnsentPrompt, identifier=f"card:{field}", name=f"The card's {what}")
        if not getattr(inputs.story.settings, setting):
            yield of_card(reason="not_preferred", sentence=f"the settings prefer the preset's {what}")
        elif prompt.forbid_overrides:
            yield of_card(reason="forbid_overrides", sentence="the preset forbids cards to override this prompt")
        elif identifier in disabled:
            yield of_card(reason="switched_off", sentence=f"the preset's {what}, whose place it takes, is switched off")
        elif prompt.content:
            yield UnsentPrompt(
                identifier=identifier, name=prompt.name, reason="overridden", sentence=f"the card has its own {what}"
            )


def _off_in_text(inputs: _StoryInputs) -> Iterator[UnsentPrompt]:
    settings = inputs.story.settings
    sysprompt = settings.sysprompt
    for identifier, text, own, setting, what in (
        ("sysprompt", sysprompt.content, inputs.card.system_prompt, settings.prefer_character_prompt, "system prompt"),
        (
            "post_history",
            sysprompt.post_history,
            inputs.card.post_history,
            settings.prefer_character_jailbreak,
            "post-history instructions",
        ),
    ):
        off = partial(UnsentPrompt, identifier=identifier, name=sysprompt.name)
        of_card = partial(UnsentPrompt, identifier=f"card:{identifier}", name=f"The card's {what}")
        if not sysprompt.enabled:
            if text:
                yield off(reason="switched_off", sentence="the system prompt is switched off in the settings")
            if own:
                yield of_card(reason="switched_off", sentence="the system prompt is switched off in the settings")
        elif own and not setting:
            yield of_card(reason="not_preferred", sentence=f"the settings prefer their own {what}")
        elif own and text:
            yield off(reason="overridden", sentence=f"the card has its own {what}")


def _facts(inputs: _StoryInputs) -> Iterator[FactGroup]:
    story = inputs.story
    yield from card_facts(*inputs.cards)
    yield from persona_facts(inputs.user, _persona_place(story))
    yield from variable_facts(inputs.variables)
    yield FactGroup(kind="lore_setting", values=simple_fields(story.world_info))
    yield FactGroup(kind="book", values={name: str(len(book.entries)) for name, book in _books(inputs)})
    yield from _preset_facts(inputs.preset)
    note = story.note
    yield FactGroup(
        kind="note",
        values={
            "text": mark_of(note.text, story.character_note and story.character_note.text),
            "place": f"{note.position}, depth {note.depth}, {note.role}",
            "interval": str(note.interval),
            "due": "yes" if inputs.note_is_due else "no",
        },
    )
    chat = {"scenario": story.scenario, "examples": story.examples, "system_prompt": story.system_prompt}
    chat["quiet_prompt"] = "" if story.quiet is None else story.quiet.text
    yield FactGroup(kind="chat", values={name: mark_of(text) for name, text in chat.items() if text})
    yield from _regex_facts(story.regex_scripts)
    settings = story.settings
    yield FactGroup(kind="user_setting", values=_changed(settings, UserSettings(), _USER_SETTINGS))
    if not isinstance(inputs.preset, ChatPreset):
        sysprompt = settings.sysprompt
        templates = {"instruct": settings.instruct, "context": settings.context, "sysprompt": sysprompt}
        names = {"instruct": settings.instruct.name, "context": settings.context.name, "sysprompt": sysprompt.name}
        yield FactGroup(kind="template", values=names)
        yield FactGroup(
            kind="template_field",
            values={
                f"{what}.{name}": text
                for what, template in templates.items()
                for name, text in simple_fields(template, without=_SAME_EVERYWHERE).items()
            },
        )
    yield FactGroup(
        kind="injection",
        values={
            prompt.key: f"{prompt.position}, depth {prompt.depth}, {prompt.role}, {mark_of(prompt.content)}"
            for prompt in story.extension_prompts
        },
    )
    if story.group is not None:
        members = ", ".join(member.name for member in story.group.present)
        yield FactGroup(kind="group", values={"members": members, "cards": story.group.generation_mode.name.lower()})


def _persona_place(story: Story) -> str:
    place = story.persona
    depth = f", depth {place.depth}, {place.role}" if place.position is PersonaPosition.AT_DEPTH else ""
    return place.position.name.lower().replace("_", " ") + depth


def _books(inputs: _StoryInputs) -> Iterator[tuple[str, Book]]:
    story = inputs.story
    own = [card.character_book for card in inputs.cards[:1] if card.character_book]
    scopes = {
        "global": inputs.books,
        "chat": story.chat_books,
        "persona": story.persona_books,
        "character": (*story.character_books, *own),
    }
    for scope, books in scopes.items():
        for number, book in enumerate(books, start=1):
            yield book.name or f"({scope} book {number})", book


def _preset_facts(preset: Preset) -> Iterator[FactGroup]:
    if not isinstance(preset, ChatPreset):
        if isinstance(preset, TextPreset) and preset.name:
            yield FactGroup(kind="preset", values={"name": preset.name})
        return
    if preset.name:
        yield FactGroup(kind="preset", values={"name": preset.name})
    prompts, order = known_prompts(preset), prompt_order(preset)
    toggles = {toggle.identifier: toggle.enabled for toggle in order}
    yield FactGroup(
        kind="prompt",
        values={
            identifier: "on" if toggles.get(identifier) else "off" if identifier in toggles else "not in the order"
            for identifier in {**prompts, **toggles}
        },
    )
    yield FactGroup(kind="prompt_name", values={name: one.name for name, one in prompts.items() if one.name})
    texts = {name: mark_of(prompt.content) for name, prompt in prompts.items()}
    yield FactGroup(kind="prompt_text", values={name: mark for name, mark in texts.items() if mark})
    yield FactGroup(
        kind="prompt_place",
        values={
            name: f"{prompt.role}, depth {prompt.injection_depth}, order {prompt.injection_order}"
            if prompt.injection_position
            else prompt.role
            for name, prompt in prompts.items()
            if prompt.injection_position or prompt.role != "system"
        },
    )
    triggers = {name: ", ".join(prompt.injection_trigger) for name, prompt in prompts.items()}
    yield FactGroup(kind="prompt_trigger", values={name: wanted for name, wanted in triggers.items() if wanted})
    yield FactGroup(kind="prompt_order", values={"order": mark_of(*(toggle.identifier for toggle in order))})
    yield FactGroup(kind="preset_field", values=_changed(preset, ChatPreset(), _PRESET_FIELDS))


def _changed(value: Value, usual: Value, names: Sequence[str]) -> dict[str, str]:
    """The fields that are not as they are without anybody's doing."""
    return {name: shown(now) for name in names if (now := getattr(value, name)) != getattr(usual, name)}


def _regex_facts(scripts: RegexScripts) -> Iterator[FactGroup]:
    named = {script.scriptName or script.id: script for script in scripts}
    yield FactGroup(kind="regex", values={name: "off" if script.is_idle else "on" for name, script in named.items()})
    yield FactGroup(
        kind="regex_text",
        values={
            name: mark_of(
                script.findRegex,
                script.replaceString,
                script.trimStrings,
                script.placement,
                script.substituteRegex,
                script.minDepth,
                script.maxDepth,
                script.promptOnly,
                script.markdownOnly,
            )
            for name, script in named.items()
        },
    )
