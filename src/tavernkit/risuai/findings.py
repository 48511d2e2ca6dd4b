"""What a build of RisuAI's says of what is not in its prompt, and of what it was built from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

from tavernkit.lore.verdicts import LazyVerdicts
from tavernkit.prompt.context import Context
from tavernkit.prompt.facts import common_facts, listed, mark_of, shown, simple_fields, variable_facts
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.reasons import EntryCount, ExplainedEntry, FactGroup, Findings
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.lorebook.result import LorebookVerdict
from tavernkit.risuai.module import Module
from tavernkit.risuai.settings import RisuSettings
from tavernkit.risuai.st_convert import is_on
from tavernkit.risuai.story import Story
from tavernkit.risuai.unsent import off_cards
from tavernkit.risuai.workbench import Workbench
from tavernkit.values import JsonObject, Value

TOGGLE = "toggle_"
_LORE_SETTINGS = ("lore_depth", "lore_tokens", "lore_is_recursive", "lore_full_words")
_PROMPTS = ("main_prompt", "jailbreak", "global_note", "additional_prompt", "description_prefix")
_NOT_OF_THE_PROMPT = (
    *("model", "sub_model", "max_context", "max_response", "language", "template_default_variables"),
    *_LORE_SETTINGS,
    *_PROMPTS,
)
_CARD_FIELDS = (
    *("description", "personality", "scenario", "first_message", "example_message", "system_prompt"),
    *("replace_global_note", "additional_text"),
)


class _RisuInputs(Value, frozen=True, kw_only=True):
    """What a build was given, without the build."""

    story: Story
    settings: RisuSettings
    plan: Plan
    character: RisuCharacter
    version: str
    persona: str
    modules: tuple[Module, ...]
    places: tuple[int | None, ...]
    variables: Mapping[str, JsonObject]

    @property
    def toggles(self) -> dict[str, str]:
        return {
            name.removeprefix(TOGGLE): shown(value)
            for name, value in self.variables.get("global", {}).items()
            if name.startswith(TOGGLE)
        }


def findings_of(ctx: Context, bench: Workbench, variables: Mapping[str, JsonObject]) -> Findings:
    """The findings of the build that has just ended; nothing in them holds the build, or is worked out yet."""
    lore, scene = bench.lore, bench.scene
    common = common_facts(ctx, "risuai", "chat")
    inputs = _RisuInputs(
        story=bench.story,
        settings=bench.settings,
        plan=ctx.plan or Plan(),
        character=bench.character,
        version="" if ctx.character is None else str(ctx.character.character_version),
        persona=scene.persona,
        modules=tuple(scene.modules),
        places=tuple([_place(bench, message.id) for message in reversed(scene.chat.messages)]),
        variables=variables,
    )

    @cache
    def entries() -> tuple[list[ExplainedEntry], list[EntryCount]]:
        return ([], []) if lore is None else listed(lore.verdicts, partial(_entry, places=inputs.places))

    return Findings(
        lore=LazyVerdicts(lambda: entries()[0]),
        lore_cut=LazyVerdicts(lambda: entries()[1]),
        off=LazyVerdicts(lambda: off_cards(inputs.settings, inputs.plan, inputs.toggles)),
        facts=LazyVerdicts(lambda: [*common, *_facts(inputs)]),
    )


def _place(bench: Workbench, id: str | None) -> int | None:
    source, _ = bench.said.get(id or "", ("", None))
    number = source.partition(":")[2]
    return int(number) if number else None


def _entry(verdict: LorebookVerdict, places: Sequence[int | None]) -> ExplainedEntry:
    entry, place = verdict.entry, verdict.place
    number = None if place is None else place.message
    return ExplainedEntry(
        book=verdict.book,
        entry=entry.id or str(verdict.index),
        name=entry.comment or entry.key,
        reason=verdict.reason.value,
        sentence=str(verdict),
        cause=verdict.lore_cause,
        key=verdict.key,
        message=places[number] if number is not None and number < len(places) else None,
        near_miss=verdict.near_miss,
        mark=mark_of(
            entry.content, entry.key, entry.secondary_key, entry.always_active, entry.insert_order, entry.mode
        ),
    )


def _facts(inputs: _RisuInputs) -> Iterator[FactGroup]:
    character, settings, story = inputs.character, inputs.settings, inputs.story
    yield FactGroup(kind="card", values={character.name: inputs.version})
    marks = {name: mark_of(getattr(character, name)) for name in _CARD_FIELDS}
    if character.depth_prompt is not None:
        marks["depth_prompt"] = mark_of(character.depth_prompt.prompt)
    yield FactGroup(
        kind="card_field", values={f"{character.name}.{name}": mark for name, mark in marks.items() if mark}
    )
    yield FactGroup(kind="persona", values={"text": mark} if (mark := mark_of(inputs.persona)) else {})
    yield from variable_facts(
        {
            scope: {name: value for name, value in values.items() if scope != "global" or not name.startswith(TOGGLE)}
            for scope, values in inputs.variables.items()
        }
    )
    yield FactGroup(kind="toggle", values=inputs.toggles)
    yield FactGroup(kind="lore_setting", values={name: shown(getattr(settings, name)) for name in _LORE_SETTINGS})
    yield FactGroup(kind="preset_field", values=_changed(settings))
    yield from _card_facts(settings)
    yield FactGroup(kind="note", values={"text": mark} if (mark := mark_of(story.note)) else {})
    yield FactGroup(
        kind="chat",
        values={
            "greeting": "" if story.greeting is None else str(story.greeting),
            **({"memory": mark} if (mark := mark_of(story.memory_state)) else {}),
        },
    )
    yield FactGroup(
        kind="module", values={module.name or module.id: str(len(module.lore)) for module in inputs.modules}
    )
    of_modules = (script for module in inputs.modules for script in module.scripts)
    scripts = {
        script.comment or script.pattern[:40]: mark_of(script.pattern, script.replacement, script.type, script.flags)
        for script in (*settings.scripts, *character.scripts, *of_modules)
    }
    yield FactGroup(kind="regex", values=dict.fromkeys(scripts, "on"))
    yield FactGroup(kind="regex_text", values=scripts)


def _card_facts(settings: RisuSettings) -> Iterator[FactGroup]:
    """The cards of the template; without one, the prompts of the settings."""
    if settings.template is None:
        texts = {name: mark_of(getattr(settings, name)) for name in _PROMPTS}
        states = dict.fromkeys(_PROMPTS, "on") | {"jailbreak": "on" if settings.jailbreak_on else "off"}
        yield FactGroup(kind="prompt", values=states)
        yield FactGroup(kind="prompt_text", values={name: mark for name, mark in texts.items() if mark})
        yield FactGroup(kind="prompt_order", values={"order": mark_of(*settings.order)})
        return
    cards = {card.name or f"card:{place}:{card.type}": card for place, card in enumerate(settings.template)}
    yield FactGroup(
        kind="prompt", values={name: "on" if is_on(card, settings) else "off" for name, card in cards.items()}
    )
    yield FactGroup(kind="prompt_name", values={name: card.name for name, card in cards.items() if card.name})
    texts = {name: mark_of(card.text, card.inner_format, card.default_text) for name, card in cards.items()}
    yield FactGroup(kind="prompt_text", values={name: mark for name, mark in texts.items() if mark})
    yield FactGroup(
        kind="prompt_place",
        values={name: f"{card.role}, {card.range_start} to {card.range_end}" for name, card in cards.items()},
    )


def _changed(settings: RisuSettings) -> dict[str, str]:
    """The fields that are not as they are without anybody's doing."""
    usual = simple_fields(RisuSettings(), without=_NOT_OF_THE_PROMPT)
    now = simple_fields(settings, without=_NOT_OF_THE_PROMPT)
    return {name: text for name, text in now.items() if usual.get(name) != text}
