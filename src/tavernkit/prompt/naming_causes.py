"""Naming the cause of a change from what two explanations know: sources, verdicts, evictions and facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tavernkit.prompt.causes import (
    Cause,
    FactChange,
    FactChanges,
    character_changed,
    generation_changed,
    messages,
    setting_changed,
)
from tavernkit.prompt.evictions import beginning
from tavernkit.prompt.identities import is_template, prompt_key
from tavernkit.prompt.lore_causes import LoreCauses
from tavernkit.prompt.reasons import EvictedBlock
from tavernkit.prompt.sources import (
    AnySource,
    Explanation,
    FromArtifact,
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
    TextSource,
)
from tavernkit.values import Value

MOST_OTHERS = 3
"""How many other causes are listed beside the nearest."""

_TIME = frozenset(
    (
        *(
            "time",
            "date",
            "weekday",
            "isotime",
            "isodate",
            "datetimeformat",
            "time_utc",
            "idle_duration",
            "idleduration",
        ),
        *("timediff", "unixtime", "isotime", "message_time", "message_date", "message_idle_duration"),
    )
)
_CHANCE = frozenset(("random", "roll", "pick", "dice", "randint", "rollp", "hash"))
_CONDITIONS = frozenset(("if", "unless", "when", "each"))
_LATEST = re.compile(r"(last|previous|current|message|chat|input)", re.IGNORECASE)
_WORD = re.compile(r"\w+")

_MARKERS = {
    "description": ("charDescription", "description"),
    "personality": ("charPersonality", "description"),
    "scenario": ("scenario", "description"),
    "mes_example": ("dialogueExamples",),
    "system_prompt": ("main",),
    "post_history_instructions": ("jailbreak",),
}
"""The prompts that stand for a field of a card."""

_LORE_MARKERS = ("worldInfoBefore", "worldInfoAfter")
_PREFERRED = {
    "system_prompt": "prefer_character_prompt",
    "main": "prefer_character_prompt",
    "post_history_instructions": "prefer_character_jailbreak",
    "jailbreak": "prefer_character_jailbreak",
}
_OVERRIDING = {"main": "system_prompt", "jailbreak": "post_history_instructions"}


class ChangedText(Value, frozen=True, kw_only=True):
    """A text that has changed, and the sources it has before and after."""

    before: tuple[AnySource, ...]
    after: tuple[AnySource, ...]
    text: str

    @property
    def is_changed(self) -> bool:
        """Whether it is in both prompts."""
        return bool(self.before and self.after)

    @property
    def source(self) -> AnySource:
        return (self.after or self.before)[0]

    @property
    def named(self) -> list[TextSource]:
        """All sources that it names."""
        return list(dict.fromkeys(named for source in (*self.before, *self.after) for named in source.named()))


class Causes:
    """The causes of the changes from one prompt to another."""

    def __init__(self, before: Explanation, after: Explanation) -> None:
        self._before = before
        self._after = after
        self._facts = FactChanges(before.facts, after.facts)
        self._lore = LoreCauses(before, after, self._facts)

    def of(self, text: ChangedText) -> tuple[Cause, ...]:
        """The causes of a change, the nearest first; none where none is known."""
        found: dict[Cause, None] = {}
        for cause in self._all(text):
            found[cause] = None
            if len(found) > MOST_OTHERS:
                break
        return tuple(found)

    def _all(self, text: ChangedText) -> Iterator[Cause]:
        yield from self._by_variables(text)
        yield from self._by_source(text.source, text)
        if is_template(text.source):
            return
        yield from self._by_regex(text)
        yield from self._of_preset()
        yield from self._by_eviction(text)
        for cause in (generation_changed(self._facts), character_changed(self._facts)):
            if cause is not None:
                yield cause
        if text.is_changed:
            yield from self._preset_fields()
            yield from self._user_settings()
        yield from self._order()

    def _by_source(self, source: AnySource, text: ChangedText) -> Iterator[Cause]:
        match source:
            case FromHistory():
                yield from self._history(text)
            case FromLore():
                yield from self._lore.of(source)
                yield from self._markers(*_LORE_MARKERS)
            case FromPreset():
                yield from self._prompt(source)
            case FromCard():
                yield from self._card(source)
            case FromPersona():
                yield from self._persona()
            case FromTemplate():
                yield from self._template(source)
            case FromChat():
                yield from self._chat(source)
            case FromInjection():
                yield self._injection(source, text)
            case FromArtifact():
                yield self._artifact(source, text)
            case FromMacro():
                yield from self._macro(source, text)
            case FromRegex():
                yield from self._by_regex(text)
                if source.inside is not None:
                    yield from self._by_source(source.inside, text)
            case FromTrigger() if not text.is_changed:
                yield Cause(code="trigger_changed", sentence=f"Trigger {source.place} says something else")
            case _:
                return

    # What is asked first: variables and rules that have brought a text here.

    def _by_variables(self, text: ChangedText) -> Iterator[Cause]:
        """Variables and toggles that the macros of a text name; conditions do not always say what they ask for."""
        macros = [source for source in text.named if isinstance(source, FromMacro)]
        words = {word for macro in macros for part in (macro.name, *macro.arguments) for word in _WORD.findall(part)}
        variables, toggles = (list(self._facts.of(kind).values()) for kind in ("variable", "toggle"))
        named = [
            *(self._variable(one) for one in variables if one.name.partition(".")[2] in words),
            *(_toggle(one) for one in toggles if one.name in words or f"toggle_{one.name}" in words),
        ]
        if not named and any(macro.name.lower() in _CONDITIONS or macro.name.startswith("#") for macro in macros):
            named = [*map(self._variable, variables), *map(_toggle, toggles)]
        yield from named

    def _variable(self, change: FactChange) -> Cause:
        name = change.name.partition(".")[2]
        setter = self._facts.after.get("variable_by", {}).get(change.name)
        if setter is None:
            return Cause(code="variable_changed", sentence=f"Variable {name} changed {change.from_to}")
        return Cause(code="variable_changed", sentence=f"Variable {name} changed ({setter} set it {change.from_to})")

    def _by_regex(self, text: ChangedText) -> Iterator[Cause]:
        states = self._facts.of("regex")
        named = {source.script for source in text.named if isinstance(source, FromRegex)}
        edited = {name: change for name, change in self._facts.of("regex_text").items() if name not in states}
        for name, change in sorted(states.items(), key=lambda one: one[0] not in named):
            is_on = change.new == "on"
            if {change.old, change.new} != {None, "off"} and (text.is_changed or name in named):
                yield Cause(
                    code="regex_on" if is_on else "regex_off",
                    sentence=f"Regex script {name} switched {'on' if is_on else 'off'}",
                )
        for name in sorted(edited, key=lambda name: name not in named):
            if text.is_changed or name in named:
                yield Cause(code="regex_edited", sentence=f"Regex script {name} edited")

    # By the kind of the source.

    def _history(self, text: ChangedText) -> Iterator[Cause]:
        old = next((one for one in text.before if isinstance(one, FromHistory)), None)
        new = next((one for one in text.after if isinstance(one, FromHistory)), None)
        if old is not None and new is not None:
            if old.swipe != new.swipe:
                yield _swipe(old, new)
                return
            # What the application knows of messages of which the chat does not say it.
            swipe = self._facts.get("swipe", str(new.message))
            if swipe is not None and swipe.old and swipe.new:
                yield Cause(
                    code="swipe_changed",
                    sentence=f"Message {new.message}: swipe {swipe.new} in place of swipe {swipe.old}",
                )
                return
            yield from self._by_regex(text)
            yield from self._preset_fields()
            yield Cause(code="message_edited", sentence=f"Message {new.message} edited")
        elif new is not None:
            yield from self._come(new)
        elif old is not None:
            yield from self._gone(old)
        yield from self._markers("chatHistory", "chat")

    def _come(self, message: FromHistory) -> Iterator[Cause]:
        number, oldest = message.message, self._windows[0]
        if number >= self._totals[0]:
            yield Cause(code="new_message", sentence=f"Message {number} is new")
        elif oldest is None or number < oldest:
            yield from self._room()
            yield self._window()
        elif self._totals[1] > self._totals[0]:
            yield Cause(code="new_message", sentence=f"Message {number} is new")
        else:
            generation = generation_changed(self._facts)
            if generation is not None:
                yield generation
            yield Cause(code="message_shown", sentence=f"Message {number} is not hidden any more")

    def _gone(self, message: FromHistory) -> Iterator[Cause]:
        number, oldest = message.message, self._windows[1]
        evicted = next((one for one in self._after.evicted if one.message == number), None)
        generation = generation_changed(self._facts)
        if evicted is not None and evicted.reason == "summed_up":
            yield Cause(code="message_summed_up", sentence=f"Message {number} is replaced by the memory")
        elif number >= self._totals[1] or (oldest is not None and number >= oldest and self._has_fewer):
            if generation is not None:
                yield generation
            yield Cause(code="message_deleted", sentence=f"Message {number} deleted")
        elif evicted is not None or oldest is None or number < oldest:
            yield from self._room()
            yield self._window()
            if evicted is not None:
                yield _evicted(evicted)
        else:
            if generation is not None:
                yield generation
            yield Cause(code="message_hidden", sentence=f"Message {number} hidden")

    @cached_property
    def _windows(self) -> tuple[int | None, int | None]:
        """The oldest message of each prompt."""
        return _oldest(self._before), _oldest(self._after)

    @cached_property
    def _totals(self) -> tuple[int, int]:
        """How many messages each chat has."""
        return _total(self._before), _total(self._after)

    @property
    def _has_fewer(self) -> bool:
        return self._totals[1] < self._totals[0]

    def _window(self) -> Cause:
        old, new = (one or 0 for one in self._windows)
        return Cause(code="history_window", sentence=f"History window moved by {messages(abs(new - old))}")

    def _room(self) -> Iterator[Cause]:
        for change in self._facts.of("setting").values():
            yield setting_changed(change)
        model = self._facts.get("build", "model")
        if model is not None:
            yield Cause(code="model_changed", sentence=f"Model changed {model.from_to}")

    def _prompt(self, source: FromPreset) -> Iterator[Cause]:
        key = prompt_key(source)
        yield from self._of_preset()
        yield from self._preference(key)
        yield from self._switched(key)
        title = self._title(key)
        if self._facts.get("prompt_text", key) is not None:
            yield Cause(code="prompt_edited", sentence=f"{title} edited")
        place = self._facts.get("prompt_place", key)
        if place is not None:
            yield Cause(
                code="prompt_moved",
                sentence=f"{title} moved from {place.old or 'its place'} to {place.new or 'its place'}",
            )
        if self._facts.value("prompt_trigger", key) and (cause := generation_changed(self._facts)):
            yield cause
        field = self._facts.get("preset_field", key)
        if field is not None:
            yield _preset_field(field)
        if key.startswith("sysprompt."):
            yield from self._templates(key)
        overriding = _OVERRIDING.get(key)
        if overriding is not None:
            yield from self._card_field(overriding)
        yield from self._order()

    def _switched(self, key: str) -> Iterator[Cause]:
        change = self._facts.get("prompt", key)
        if change is None:
            return
        title = self._title(key)
        if change.old is None:
            yield Cause(code="prompt_added", sentence=f"{title} added")
        elif change.new is None:
            yield Cause(code="prompt_removed", sentence=f"{title} removed")
        elif change.new == "on":
            yield Cause(code="prompt_on", sentence=f"{title} switched on")
        elif change.old == "on":
            yield Cause(code="prompt_off", sentence=f"{title} switched off")

    def _title(self, key: str) -> str:
        return f"Preset prompt {self._facts.value('prompt_name', key) or key}"

    def _markers(self, *keys: str) -> Iterator[Cause]:
        """What stands for a text among the prompts of the preset."""
        for key in keys:
            yield from self._switched(key)
            place = self._facts.get("prompt_place", key)
            if place is not None:
                yield Cause(code="prompt_moved", sentence=f"{self._title(key)} moved")

    def _of_preset(self) -> Iterator[Cause]:
        change = self._facts.get("preset", "name")
        if change is not None:
            yield Cause(code="preset_changed", sentence=f"Preset changed {change.from_to}")

    def _order(self) -> Iterator[Cause]:
        if self._facts.get("prompt_order", "order") is not None:
            yield Cause(code="prompt_order", sentence="Order of the preset's prompts changed")

    def _preference(self, key: str) -> Iterator[Cause]:
        name = _PREFERRED.get(key)
        change = None if name is None else self._facts.get("user_setting", name)
        if change is not None:
            # What is as it usually is, is not among the facts: the card's text is preferred.
            is_preferred = change.new is None
            yield Cause(
                code="user_setting",
                sentence=f"The card's own text is {'now' if is_preferred else 'no longer'} preferred to the preset's",
            )

    def _card(self, source: FromCard) -> Iterator[Cause]:
        cause = character_changed(self._facts)
        if cause is not None:
            yield cause
        yield from self._preference(source.field)
        yield from self._card_field(source.field, source.character)
        field = "system_prompt" if source.field == "system_prompt" else source.field
        if self._facts.get("chat", field) is not None:
            yield Cause(code="chat_edited", sentence=f"{field} of the chat edited")
        yield from self._markers(*_MARKERS.get(source.field, ()))

    def _card_field(self, field: str, character: str | None = None) -> Iterator[Cause]:
        for name, change in self._facts.of("card_field").items():
            owner, _, changed = name.rpartition(".")
            if changed != field or character not in (None, owner):
                continue
            version = self._facts.get("card", owner)
            if version is not None:
                yield Cause(code="card_version", sentence=f"Card {owner} changed from version {version.from_to[5:]}")
            yield Cause(code="card_edited", sentence=f"{field} of {owner} {'edited' if change.new else 'removed'}")

    def _persona(self) -> Iterator[Cause]:
        user = self._facts.get("build", "user")
        if user is not None:
            yield Cause(code="persona_changed", sentence=f"Persona changed {user.from_to}")
        if self._facts.get("persona", "text") is not None:
            yield Cause(code="persona_edited", sentence="Persona edited")
        place = self._facts.get("persona", "place")
        if place is not None:
            yield Cause(code="persona_moved", sentence=f"Persona moved {place.from_to}")
        yield from self._note_due()
        yield from self._markers("personaDescription", "persona")

    def _template(self, source: FromTemplate) -> Iterator[Cause]:
        yield from self._templates(source.what)
        if source.what in ("wrap_in_quotes", "user_prompt_bias"):
            yield from self._preset_fields()
            yield from self._user_settings()

    def _templates(self, what: str) -> Iterator[Cause]:
        kind = what.partition(".")[0]
        name = self._facts.get("template", kind)
        field = self._facts.get("template_field", what)
        switched = self._facts.get("template_field", f"{kind}.enabled")
        if name is not None:
            yield Cause(code="template_changed", sentence=f"{kind.capitalize()} template changed {name.from_to}")
        if switched is not None:
            is_on = switched.new == "on"
            yield Cause(
                code="template_changed", sentence=f"{kind.capitalize()} template switched {'on' if is_on else 'off'}"
            )
        if field is not None:
            yield Cause(code="template_edited", sentence=f"Template {what} edited")

    def _chat(self, source: FromChat) -> Iterator[Cause]:
        if source.field in ("note", "character_note"):
            if self._facts.get("note", "text") is not None:
                yield Cause(code="note_edited", sentence="Author's note edited")
            place = self._facts.get("note", "place")
            if place is not None:
                yield Cause(code="note_moved", sentence=f"Author's note moved {place.from_to}")
            yield from self._note_due()
        elif source.field == "memory":
            yield Cause(code="memory_changed", sentence="Memory of the chat changed")
        elif self._facts.get("chat", source.field) is not None:
            yield Cause(code="chat_edited", sentence=f"{source.field} of the chat edited")

    def _note_due(self) -> Iterator[Cause]:
        due = self._facts.get("note", "due")
        if due is not None:
            is_due = due.new == "yes"
            yield Cause(
                code="note_due", sentence=f"Author's note: it is {'its' if is_due else 'not its'} turn in this message"
            )

    def _injection(self, source: FromInjection, text: ChangedText) -> Cause:
        what = "edited" if text.is_changed else "added" if text.after else "removed"
        place = self._facts.get("injection", source.id)
        if text.is_changed and place is not None and place.old and place.new:
            old, new = (one.rpartition(", ") for one in (place.old, place.new))
            if old[2] == new[2]:
                what = f"moved from {old[0]} to {new[0]}"
        return Cause(code="injection_changed", sentence=f"Injection {source.id} {what}")

    def _artifact(self, source: FromArtifact, text: ChangedText) -> Cause:
        if not text.is_changed:
            is_new = bool(text.after)
            return Cause(
                code="artifact_added" if is_new else "artifact_removed",
                sentence=f"Artifact {source.artifact} {'added' if is_new else 'removed'}",
            )
        old = next((one.version for one in text.before if isinstance(one, FromArtifact)), None)
        return Cause(
            code="artifact_version",
            sentence=f"Artifact {source.artifact}: version {source.version} in place of {old}",
        )

    def _macro(self, source: FromMacro, text: ChangedText) -> Iterator[Cause]:
        name = source.name.lower().lstrip("#/!")
        call = "{{" + source.name + "}}"
        if not text.is_changed and source.inside is not None:
            yield from self._by_source(source.inside, text)
            return
        if name in ("user", "persona", "<user>"):
            yield from self._persona()
        elif name in ("char", "bot", "<bot>") and (cause := character_changed(self._facts)):
            yield cause
        elif name in _TIME:
            yield Cause(code="time_passed", sentence=f"{call}: time has passed")
        elif name in _CHANCE:
            yield Cause(code="chance", sentence=f"{call}: chance has decided otherwise")
        elif _LATEST.match(name) and self._totals[0] != self._totals[1]:
            yield Cause(code="new_message", sentence=f"{call}: the chat has {messages(self._totals[1])}")
        if source.inside is not None and not any(
            isinstance(one, FromMacro) and one.arguments == source.arguments for one in text.before
        ):
            yield from self._by_source(source.inside, text)
        yield Cause(code="macro_answer", sentence=f"{call} answered differently")

    def _by_eviction(self, text: ChangedText) -> Iterator[Cause]:
        if text.is_changed or isinstance(text.source, FromHistory):
            return
        of, other = (self._before, "came back") if text.after else (self._after, "")
        begun = beginning(text.text)[:40]
        for block in of.evicted:
            if block.text and block.text[:40] == begun:
                yield from self._room()
                if other:
                    yield Cause(code="evicted", sentence=f"{block.source} fits again")
                else:
                    yield _evicted(block)
                return

    def _preset_fields(self) -> Iterator[Cause]:
        for change in self._facts.of("preset_field").values():
            yield _preset_field(change)

    def _user_settings(self) -> Iterator[Cause]:
        for change in self._facts.of("user_setting").values():
            name = change.name.replace("_", " ")
            yield Cause(code="user_setting", sentence=f"Setting “{name}” changed {change.from_to}")


def _toggle(change: FactChange) -> Cause:
    return Cause(code="toggle_changed", sentence=f"Toggle {change.name} changed {change.from_to}")


def _preset_field(change: FactChange) -> Cause:
    return Cause(code="preset_field", sentence=f"Preset field {change.name} changed {change.from_to}")


def _swipe(old: FromHistory, new: FromHistory) -> Cause:
    return Cause(
        code="swipe_changed",
        sentence=f"Message {new.message}: swipe {new.swipe or 0} in place of swipe {old.swipe or 0}",
    )


def _evicted(block: EvictedBlock) -> Cause:
    short = "" if block.short_by is None else f" by {block.short_by} tokens"
    return Cause(code="evicted", sentence=f"{block.source} does not fit{short}: {block.sentence}")


def _places(explanation: Explanation) -> Iterator[int]:
    """The places in the chat of all messages of a prompt."""
    for message in explanation.messages:
        for span in message.spans:
            if isinstance(span.source, FromHistory):
                yield span.source.message


def _oldest(explanation: Explanation) -> int | None:
    return min(_places(explanation), default=None)


def _total(explanation: Explanation) -> int:
    known = explanation.facts.get("history", {}).get("messages", "")
    if known.isdigit():
        return int(known)
    return max(_places(explanation), default=-1) + 1
