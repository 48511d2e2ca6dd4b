"""The form of a lorebook entry: its fields as texts in boxes, and back into World Info form.

Only what was changed is written, so that a field that the form shows in its own way stays as its file wrote it. Nothing
here knows where the entry is stored: the book of a card is edited with the same form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict

from tavernkit.lore.files.world_fields import ENTRY_TEMPLATE, EXTENSION_NAMES, PASSED_ON, WORLD_FIELDS
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.edge.web.forms import as_lines, one_newline, whole_number
from tavernkit.playground.story.lorebooks.entry_fields import CARD_FIELDS, whole_entry
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.lorebook.decorators import DECORATORS, read_decorators
from tavernkit.values import Json, JsonObject, Value

NAMELESS = _("Unnamed")

POSITIONS: Final = {
    "0": _("Before character"),
    "1": _("After character"),
    "2": _("Before author's note"),
    "3": _("After author's note"),
    "4": _("At depth"),
    "5": _("Before examples"),
    "6": _("After examples"),
    "7": _("Outlet"),
}
LOGICS: Final = {
    "0": _("AND ANY (one of them is found)"),
    "3": _("AND ALL (all of them are found)"),
    "1": _("NOT ALL (one of them is missing)"),
    "2": _("NOT ANY (none of them is found)"),
}
ROLES: Final = {"0": _("System"), "1": _("User"), "2": _("Assistant")}
AS_SET: Final = {"": _("As in the settings"), "true": _("Yes"), "false": _("No")}
REGEX_KEYS: Final = {"": _("Keys written as /…/"), "true": _("Yes"), "false": _("No")}
MODES: Final = {
    "normal": _("Normal"),
    "constant": _("Constant"),
    "multiple": _("Multiple"),
    "child": _("Child"),
    "folder": _("Folder"),
}
TRIGGERS: Final = {
    "normal": _("Normal"),
    "continue": _("Continue"),
    "impersonate": _("Impersonate"),
    "swipe": _("Swipe"),
    "regenerate": _("Regenerate"),
    "quiet": _("Quiet"),
}
MOST = 1_000_000
MAX_OTHERS = 100_000


class EntryForm(BaseModel):
    """The boxes as they stand; a box with a tick says `on`."""

    model_config = ConfigDict(frozen=True)

    comment: str = ""
    keys: str = ""
    content: str = ""
    enabled: str = ""
    constant: str = ""
    position: str = "0"
    order: str = "100"
    depth: str = "4"
    role: str = "0"
    outlet: str = ""
    secondary_keys: str = ""
    logic: str = "0"
    selective: str = ""
    scan_depth: str = ""
    case_sensitive: str = ""
    whole_words: str = ""
    use_regex: str = ""
    match_persona: str = ""
    match_description: str = ""
    match_personality: str = ""
    match_note: str = ""
    match_scenario: str = ""
    match_creator_notes: str = ""
    vectorized: str = ""
    filter_names: str = ""
    filter_tags: str = ""
    filter_excludes: str = ""
    trigger_normal: str = ""
    trigger_continue: str = ""
    trigger_impersonate: str = ""
    trigger_swipe: str = ""
    trigger_regenerate: str = ""
    trigger_quiet: str = ""
    group: str = ""
    group_weight: str = "100"
    group_override: str = ""
    group_scoring: str = ""
    use_probability: str = ""
    probability: str = "100"
    sticky: str = ""
    cooldown: str = ""
    delay: str = ""
    exclude_recursion: str = ""
    prevent_recursion: str = ""
    delay_until_recursion: str = "0"
    ignore_budget: str = ""
    automation_id: str = ""
    card_name: str = ""
    priority: str = ""
    mode: str = "normal"
    folder: str = ""
    activation_percent: str = ""
    others: str = ""

    def tidy(self) -> EntryForm:
        """The same with line breaks as they are stored."""
        return EntryForm(**{name: one_newline(value) for name, value in self})


BoxKind: TypeAlias = Literal["text", "lines", "content", "json", "tick", "number", "choice"]


class Box(NamedTuple):
    """A box: what the page calls it, what it shows of an entry, and which fields of the entry its text stands for.

    `write` is also given the entry, for fields of which it holds a part.
    """

    label: str
    read: Callable[[LooseObject], str]
    write: Callable[[str, JsonObject], Mapping[str, Json]]
    kind: BoxKind = "text"
    choices: Mapping[str, str] = {}
    least: int = 0
    most: int = MOST


def entry_form(data: JsonObject) -> EntryForm:
    """An entry as the boxes show it."""
    whole = whole_entry(data)
    entry = LooseObject({storable(key): presentable(value) for key, value in whole.items()}, ReportBuilder())
    return EntryForm(**{name: box.read(entry) for name, box in BOXES.items()}).tidy()


def blank_form() -> EntryForm:
    """A new entry as SillyTavern makes it."""
    return entry_form(ENTRY_TEMPLATE)


def changed_fields(data: JsonObject, form: EntryForm) -> tuple[dict[str, Json], frozenset[str]]:
    """The fields of the boxes that say something else than the entry, and those that are to be removed."""
    before, after = entry_form(data), form.tidy()
    whole, fields = whole_entry(data), dict[str, Json]()
    for name, box in BOXES.items():
        value = getattr(after, name)
        if value != getattr(before, name):
            fields |= box.write(value, {**whole, **fields})
    given = _others_in(after.others) if after.others != before.others else None
    gone = () if given is None else (name for name in _others(whole) if name not in given and name != "extensions")
    return fields, frozenset(gone)


def differences(mine: EntryForm, theirs: EntryForm) -> tuple[tuple[str, str], ...]:
    """The fields in which what is there now is not what somebody wants to save: what they are called, what is there."""
    mine = mine.tidy()
    return tuple((BOXES[name].label, said(name, now)) for name, now in theirs.tidy() if now != getattr(mine, name))


def said(name: str, value: str) -> str:
    """The text of a box in words."""
    box = BOXES[name]
    if box.kind == "tick":
        return _("Yes") if value else _("No")
    return box.choices.get(value, value) or _("Empty")


class BoxView(Value, frozen=True, kw_only=True):
    """A box with what is in it."""

    name: str
    label: str
    kind: BoxKind
    value: str
    choices: Mapping[str, str]
    least: int
    most: int


class BoxGroup(Value, frozen=True, kw_only=True):
    """Boxes that are folded away together; `changed` says which of them are not as in a new entry."""

    title: str
    help: str
    boxes: tuple[BoxView, ...]
    ticks: tuple[BoxView, ...]
    changed: str


class EntryEditor(Value, frozen=True, kw_only=True):
    """The form of an entry, as its template draws it."""

    boxes: Mapping[str, BoxView]
    groups: tuple[BoxGroup, ...]
    decorators: tuple[DecoratorView, ...]
    check: DecoratorCheck

    def __getitem__(self, name: str) -> BoxView:
        return self.boxes[name]


def entry_editor(form: EntryForm) -> EntryEditor:
    """The form with these texts in its boxes."""
    boxes = {
        name: BoxView(
            name=name,
            label=box.label,
            kind=box.kind,
            value=getattr(form, name),
            choices=_with(box.choices, getattr(form, name)) if box.kind == "choice" else {},
            least=box.least,
            most=box.most,
        )
        for name, box in BOXES.items()
    }
    blank = blank_form()
    return EntryEditor(
        boxes=boxes,
        groups=tuple(
            BoxGroup(
                title=title,
                help=help,
                boxes=tuple(boxes[name] for name in names if boxes[name].kind != "tick"),
                ticks=tuple(boxes[name] for name in names if boxes[name].kind == "tick"),
                changed=" · ".join(
                    _("{label}: {value}", label=boxes[name].label, value=shown_name(said(name, boxes[name].value))[:60])
                    for name in names
                    if boxes[name].value != getattr(blank, name)
                ),
            )
            for title, help, names in _groups()
        ),
        decorators=decorator_views(),
        check=decorator_check(form.content),
    )


def _with(choices: Mapping[str, str], value: str) -> dict[str, str]:
    """The choices, with one that a file has brought along and nobody knows."""
    return {**choices, value: choices.get(value, _("Unknown ({value})", value=value))}


def entry_name(comment: str, keys: tuple[str, ...] | list[str]) -> str:
    """What an entry is called: its title, else its first keys."""
    text = storable(comment or ", ".join(keys[:3]))
    return shown_name(text) if text.strip() else NAMELESS


def place_of(form: EntryForm) -> str:
    """Where the entry goes, in a few words."""
    if form.position == "4":
        return _("Depth {depth}", depth=form.depth)
    return POSITIONS.get(form.position, _("Position {number}", number=form.position))


class DecoratorView(Value, frozen=True, kw_only=True):
    """A decorator that RisuAI knows: how it is written, and what it does."""

    written: str
    meaning: str


class DecoratorCheck(Value, frozen=True, kw_only=True):
    """The decorators that a content begins with, and what is wrong with them."""

    found: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def decorator_check(content: str) -> DecoratorCheck:
    """The lines `@@…` at the beginning of a content."""
    found: list[str] = []
    problems: list[str] = []
    for untrimmed in content.strip().split("\n"):
        line = untrimmed.strip()
        if not line.startswith("@@"):
            break
        found.append(line[:200])
        name = line.lstrip("@").partition(" ")[0]
        if name not in DECORATORS:
            problems.append(_("There is no decorator @@{name}.", name=storable(name)[:60]))
    if found:
        problems += (storable(problem) for problem in read_decorators(content).problems)
    return DecoratorCheck(found=tuple(map(storable, found)), problems=tuple(problems))


def decorator_views() -> tuple[DecoratorView, ...]:
    return tuple(
        DecoratorView(written=f"@@{name}{rest}", meaning=text) for name, (rest, text) in DECORATOR_TEXTS.items()
    )


DECORATOR_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "activate": ("", _("Activates the entry always. SillyTavern knows it too.")),
    "dont_activate": ("", _("Never activates the entry by its keys. SillyTavern knows it too.")),
    "depth": (" 4", _("Inserts the entry in the chat at this depth.")),
    "reverse_depth": (" 4", _("Inserts the entry at this depth, counted from the first message.")),
    "end": ("", _("Inserts the entry at the end of the chat.")),
    "position": (" after_desc", _("Inserts at: after_desc, before_desc, personality, scenario, or pt_ and a name.")),
    "role": (" system", _("Role of the entry in the chat: user, assistant or system.")),
    "scan_depth": (" 10", _("Number of messages that are scanned for this entry.")),
    "activate_only_after": (" 5", _("Only once the chat has this many messages.")),
    "activate_only_every": (" 3", _("Only at every Nth message.")),
    "is_greeting": (" 1", _("Only in chats that began with this greeting.")),
    "probability": (" 50", _("Activates in this many percent of cases.")),
    "priority": (" 10", _("Entries with a higher priority stay when there is little room.")),
    "ignore_on_max_context": ("", _("Is left out first when there is little room.")),
    "keep_activate_after_match": ("", _("Stays active once it has been activated.")),
    "dont_activate_after_match": ("", _("Is activated only once.")),
    "additional_keys": (" key, key", _("One of these keys must be found too.")),
    "exclude_keys": (" key, key", _("None of these keys may be found.")),
    "exclude_keys_all": (" key, key", _("Not all of these keys may be found.")),
    "match_full_word": ("", _("Keys match whole words only.")),
    "match_partial_word": ("", _("Keys match parts of words too.")),
    "recursive": ("", _("The content can activate other entries.")),
    "unrecursive": ("", _("The content activates no other entries.")),
    "no_recursive_search": ("", _("Other entries do not activate this entry.")),
    "inject_lore": (" name", _("Inserts the content into the entry of this name.")),
    "inject_at": (" description", _("Inserts the content into this part of the prompt.")),
    "inject_replace": (" text", _("Replaces this text at the place of insertion.")),
    "inject_prepend": ("", _("Inserts before the text instead of after it.")),
    "disable_ui_prompt": (" system_prompt", _("Leaves out system_prompt or post_history_instructions.")),
}


def _text(label: str, field: str) -> Box:
    return Box(label, lambda entry: entry.text(field), lambda text, _entry: {field: text})


def _name(label: str, field: str) -> Box:
    """A short text; its ends do not count."""
    return _text(label, field)._replace(write=lambda text, _entry: {field: text.strip()})


def _lines(label: str, field: str) -> Box:
    return Box(
        label,
        lambda entry: "\n".join(entry.texts(field)),
        lambda text, _entry: {field: as_lines(text)},
        kind="lines",
    )


def _tick(label: str, field: str, *, when: bool = True, default: bool = False) -> Box:
    """A box with a tick where the field is as `when` says."""
    return Box(
        label,
        lambda entry: "on" if entry.flag(field, default=default) == when else "",
        lambda text, _entry: {field: bool(text) == when},
        kind="tick",
    )


def _number(label: str, field: str, *, least: int = 0, most: int, default: int) -> Box:
    return Box(
        label,
        lambda entry: _digits(entry.number(field, default=default)),
        lambda text, _entry: {field: whole_number(text, name=label, least=least, most=most)},
        kind="number",
        least=least,
        most=most,
    )


def _digits(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.10g}"


def _optional(label: str, field: str, *, least: int = 0, most: int = MOST, is_zero_none: bool = False) -> Box:
    """A number, or none in an empty box."""

    def read(entry: LooseObject) -> str:
        number = entry.optional_number(field)
        return "" if number is None or (is_zero_none and not number) else _digits(number)

    def write(text: str, _entry: JsonObject) -> Mapping[str, Json]:
        number = whole_number(text, name=label, least=least, most=most) if text.strip() else None
        return {field: None if is_zero_none and not number else number}

    return Box(label, read, write, kind="number", least=least, most=most)


def _choice(label: str, field: str, choices: Mapping[str, str], *, default: int = 0) -> Box:
    def write(text: str, _entry: JsonObject) -> Mapping[str, Json]:
        return {field: int(_chosen(label, text, choices))}

    return Box(label, lambda entry: str(entry.integer(field, default=default)), write, kind="choice", choices=choices)


def _chosen(label: str, text: str, choices: Mapping[str, str]) -> str:
    if text in choices:
        return text
    raise Refused("invalid", _("Choose a value of “{label}” from the list.", label=label))


def _setting(label: str, field: str, choices: Mapping[str, str] = AS_SET) -> Box:
    """Yes, no, or what the settings say."""

    def write(text: str, _entry: JsonObject) -> Mapping[str, Json]:
        chosen = _chosen(label, text, choices)
        return {field: None if not chosen else chosen == "true"}

    return Box(label, lambda entry: _yes_or_no(entry.optional_flag(field)), write, kind="choice", choices=choices)


def _yes_or_no(flag: bool | None) -> str:
    return "" if flag is None else "true" if flag else "false"


def _read_case(entry: LooseObject) -> str:
    own = entry.optional_flag("caseSensitive")
    return _yes_or_no(entry.optional_flag("case_sensitive") if own is None else own)


def _write_case(text: str, entry: JsonObject) -> Mapping[str, Json]:
    chosen = _chosen(_("Case-sensitive"), text, AS_SET)
    value = None if not chosen else chosen == "true"
    # RisuAI reads the field of cards.
    return {"caseSensitive": value} | (
        {} if value is None and "case_sensitive" not in entry else {"case_sensitive": value}
    )


def _filter(label: str, part: str) -> Box:
    """A list of the character filter."""

    def write(text: str, entry: JsonObject) -> Mapping[str, Json]:
        return {"characterFilter": {**_character_filter(entry), part: as_lines(text)}}

    return Box(label, lambda entry: "\n".join(entry.nested("characterFilter").texts(part)), write, kind="lines")


def _character_filter(entry: JsonObject) -> dict[str, Json]:
    given = entry.get("characterFilter")
    return {"isExclude": False, "names": [], "tags": [], **(given if isinstance(given, dict) else {})}


def _trigger(name: str, label: str) -> Box:
    def write(text: str, entry: JsonObject) -> Mapping[str, Json]:
        given = entry.get("triggers")
        others = [one for one in given if one != name] if isinstance(given, list) else []
        return {"triggers": [*others, name] if text else others}

    return Box(label, lambda entry: "on" if name in entry.texts("triggers") else "", write, kind="tick")


def _level(entry: LooseObject) -> str:
    """Which level of recursion the entry waits for; older files say only that it waits."""
    value = entry.raw("delayUntilRecursion")
    return str(int(value)) if isinstance(value, bool) else str(entry.integer("delayUntilRecursion"))


_PERCENT = "risu_activationPercent"


def _read_percent(entry: LooseObject) -> str:
    number = entry.nested("extensions").optional_number(_PERCENT)
    return "" if number is None else _digits(number)


def _write_percent(text: str, entry: JsonObject) -> dict[str, Json]:
    number = whole_number(text, name=_("Activation (%)"), least=0, most=100) if text.strip() else None
    others = {name: value for name, value in _extensions(entry).items() if name != _PERCENT}
    return {"extensions": others | ({} if number is None else {_PERCENT: number})}


_KNOWN_EXTENSIONS: Final = {*EXTENSION_NAMES.values(), *PASSED_ON.values(), _PERCENT}
_HAVE_BOXES: Final = {*WORLD_FIELDS, *CARD_FIELDS, "addMemo"} - {"extensions"}


def _extensions(entry: JsonObject) -> dict[str, Json]:
    found = entry.get("extensions")
    return found if isinstance(found, dict) else {}


def _others(entry: JsonObject) -> dict[str, Json]:
    """The fields that no box is for."""
    further = {name: value for name, value in _extensions(entry).items() if name not in _KNOWN_EXTENSIONS}
    others = {name: value for name, value in entry.items() if name not in _HAVE_BOXES and name != "extensions"}
    return others | ({"extensions": further} if further else {})


def _read_others(entry: LooseObject) -> str:
    others = _others(entry.source)
    return json.dumps(others, indent=2, ensure_ascii=False) if others else ""


def _others_in(text: str) -> dict[str, Json]:
    label = _("Other fields (JSON)")
    if len(text) > MAX_OTHERS:
        raise Refused("too_long", _("“{label}” has at most {limit} characters.", label=label, limit=MAX_OTHERS))
    try:
        given = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise Refused("invalid", _("“{label}” is not valid JSON: {reason}.", label=label, reason=str(error))) from None
    if not isinstance(given, dict) or not isinstance(given.get("extensions", {}), dict):
        raise Refused("invalid", _("“{label}” must be an object in braces; extensions too.", label=label))
    for name in (*given, *given.get("extensions", {})):
        if name in _HAVE_BOXES or name in _KNOWN_EXTENSIONS:
            raise Refused(
                "invalid", _("The field {field} has a box of its own. Change it there.", field=storable(name))
            )
    return given


def _write_others(text: str, entry: JsonObject) -> dict[str, Json]:
    given = _others_in(text)
    kept = {name: value for name, value in _extensions(entry).items() if name in _KNOWN_EXTENSIONS}
    written = {**kept, **_extensions(given)}
    return {**given, "extensions": written} if written or "extensions" in entry else given


BOXES: Final[Mapping[str, Box]] = {
    "comment": _text(_("Title"), "comment")._replace(
        write=lambda text, _entry: {"comment": text, "addMemo": bool(text)}
    ),
    "keys": _lines(_("Primary keys"), "key"),
    "content": _text(_("Content"), "content")._replace(kind="content"),
    "enabled": _tick(_("Enabled"), "disable", when=False),
    "constant": _tick(_("Constant"), "constant"),
    # As the library reads it: an entry that says nothing stands behind the character.
    "position": _choice(_("Position"), "position", POSITIONS, default=1),
    "order": _number(_("Order"), "order", least=-MOST, most=MOST, default=100),
    "depth": _number(_("Depth"), "depth", most=10_000, default=4),
    "role": _choice(_("Role at depth"), "role", ROLES),
    "outlet": _name(_("Outlet name"), "outletName"),
    "secondary_keys": _lines(_("Secondary keys"), "keysecondary"),
    "logic": _choice(_("Logic"), "selectiveLogic", LOGICS),
    "selective": _tick(_("Use secondary keys"), "selective"),
    "scan_depth": _optional(_("Scan depth"), "scanDepth", most=10_000),
    "case_sensitive": Box(_("Case-sensitive"), _read_case, _write_case, kind="choice", choices=AS_SET),
    "whole_words": _setting(_("Match whole words"), "matchWholeWords"),
    "use_regex": _setting(_("Regular expressions (RisuAI)"), "use_regex", REGEX_KEYS),
    "match_persona": _tick(_("Scan persona description"), "matchPersonaDescription"),
    "match_description": _tick(_("Scan character description"), "matchCharacterDescription"),
    "match_personality": _tick(_("Scan character personality"), "matchCharacterPersonality"),
    "match_note": _tick(_("Scan character's note"), "matchCharacterDepthPrompt"),
    "match_scenario": _tick(_("Scan scenario"), "matchScenario"),
    "match_creator_notes": _tick(_("Scan creator's notes"), "matchCreatorNotes"),
    "vectorized": _tick(_("Vectorized"), "vectorized"),
    "filter_names": _filter(_("Characters, one per line"), "names"),
    "filter_tags": _filter(_("Tags, one per line"), "tags"),
    "filter_excludes": Box(
        _("Exclude these characters"),
        lambda entry: "on" if entry.nested("characterFilter").flag("isExclude") else "",
        lambda text, entry: {"characterFilter": {**_character_filter(entry), "isExclude": bool(text)}},
        kind="tick",
    ),
    **{f"trigger_{name}": _trigger(name, label) for name, label in TRIGGERS.items()},
    "group": _name(_("Inclusion group"), "group"),
    "group_weight": _number(_("Group weight"), "groupWeight", least=1, most=MOST, default=100),
    "group_override": _tick(_("Prioritize inclusion"), "groupOverride"),
    "group_scoring": _setting(_("Group scoring"), "useGroupScoring"),
    "use_probability": _tick(_("Use probability"), "useProbability", default=True),
    "probability": _number(_("Probability (%)"), "probability", most=100, default=100),
    "sticky": _optional(_("Sticky (messages)"), "sticky", is_zero_none=True),
    "cooldown": _optional(_("Cooldown (messages)"), "cooldown", is_zero_none=True),
    "delay": _optional(_("Delay (messages)"), "delay", is_zero_none=True),
    "exclude_recursion": _tick(_("Non-recursable"), "excludeRecursion"),
    "prevent_recursion": _tick(_("Prevent further recursion"), "preventRecursion"),
    "delay_until_recursion": _number(
        _("Delay until recursion level"), "delayUntilRecursion", most=1000, default=0
    )._replace(read=_level),
    "ignore_budget": _tick(_("Ignore budget"), "ignoreBudget"),
    "automation_id": _name(_("Automation ID"), "automationId"),
    "card_name": _name(_("Name in character cards"), "name"),
    "priority": _optional(_("Priority in character cards"), "priority", least=-MOST),
    "mode": Box(
        _("Mode (RisuAI)"),
        lambda entry: entry.text("mode") or "normal",
        lambda text, _entry: {"mode": _chosen(_("Mode (RisuAI)"), text, MODES)},
        kind="choice",
        choices=MODES,
    ),
    "folder": _name(_("Folder (RisuAI)"), "folder"),
    "activation_percent": Box(_("Activation (%)"), _read_percent, _write_percent, kind="number", most=100),
    "others": Box(_("Other fields (JSON)"), _read_others, _write_others, kind="json"),
}
"""Every box by the name of its field in the form; the order counts where two boxes write one field."""


def _groups() -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """The boxes that are folded away: title, help, names."""
    return (
        (
            _("Secondary keys"),
            _("One key per line. They count only if “Use secondary keys” is ticked."),
            ("secondary_keys", "logic", "selective"),
        ),
        (
            _("Matching"),
            _("Empty boxes and “As in the settings” leave it to the story's World Info settings."),
            (
                "scan_depth",
                "case_sensitive",
                "whole_words",
                "use_regex",
                "match_persona",
                "match_description",
                "match_personality",
                "match_note",
                "match_scenario",
                "match_creator_notes",
                "vectorized",
            ),
        ),
        (
            _("Character filter"),
            _("Without names and tags, the entry is for all characters. Characters are named as their card files are."),
            ("filter_names", "filter_tags", "filter_excludes"),
        ),
        (
            _("Triggers"),
            _("Kinds of generation that can activate the entry; none means all."),
            tuple(f"trigger_{name}" for name in TRIGGERS),
        ),
        (
            _("Inclusion group"),
            _("Of the entries of a group, only one is activated. Separate several groups by commas."),
            ("group", "group_weight", "group_override", "group_scoring"),
        ),
        (
            _("Probability and timed effects"),
            "",
            ("probability", "use_probability", "sticky", "cooldown", "delay"),
        ),
        (
            _("Recursion and budget"),
            "",
            ("delay_until_recursion", "exclude_recursion", "prevent_recursion", "ignore_budget"),
        ),
        (
            _("Automation and other applications"),
            _("These fields are kept for other applications. RisuAI uses mode, folder and activation."),
            ("automation_id", "card_name", "priority", "mode", "folder", "activation_percent"),
        ),
        (
            _("Other fields"),
            _("Fields that no box is for, as they are in the file."),
            ("others",),
        ),
    )
