"""The fields of presets as boxes of a form, and what was typed into them back as fields."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, get_args, get_origin

import msgspec

from tavernkit.errors import ParseError
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import listed
from tavernkit.playground.base.llm.kinds import PROVIDER_KINDS, ProviderKind
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.views.preset_looks import (
    CARD_FIELDS,
    ELSEWHERE,
    MASTER,
    OF_CARDS,
    OF_RISUAI,
    PARTS,
    UNNAMED,
    Control,
    Look,
)
from tavernkit.playground.edge.web.forms import as_lines, one_newline
from tavernkit.playground.story.presets.queries import AnyPreset, decode_preset
from tavernkit.playground.story.prompting.toggles import OF_PRESETS
from tavernkit.reading import parse_json
from tavernkit.risuai.settings import PromptCard, RisuSettings, TemplateSettings
from tavernkit.risuai.stored import spelling_of
from tavernkit.risuai.template.cards import KNOWN_CARDS
from tavernkit.sillytavern.presets import (
    MasterExport,
    PresetPrompt,
    TextPreset,
)
from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.values import Json, JsonObject, Value

OTHER: Final = "…"
"""The name of the box with the fields that nobody knows."""
MAX_JSON: Final = 2_000_000


class PresetField(Value, frozen=True, kw_only=True):
    """A box: `name` is where its value stands in the file, with dots between the names of nested fields.

    `type` is what the file keeps: `text`, `whole`, `number`, `flag`, `texts`, `list`, `object`, `any`; one that may be
    missing is `optional`. `note` says which providers are sent it.
    """

    name: str
    label: str
    type: str
    control: Control
    value: str
    is_optional: bool = False
    choices: Mapping[str, str] = {}
    least: float | None = None
    most: float | None = None
    note: str = ""
    is_named_by_file: bool = False
    has_macros: bool = False

    @property
    def step(self) -> str:
        if self.type == "whole":
            return "1"
        return "0.01" if self.most is not None and self.most <= 100 else "any"


class FieldGroup(Value, frozen=True, kw_only=True):
    """Boxes that belong together; `is_open` shows them at once."""

    title: str
    fields: tuple[PresetField, ...]
    is_open: bool = False


_NUMBER: Final = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE]-?\d+)?", re.ASCII)


def field_groups(kind: str, data: JsonObject, provider: str = "") -> tuple[FieldGroup, ...]:
    """All fields of a preset, with what its file says; `provider` is the kind whose ranges count."""
    return groups_of(decode_preset(kind, data)[0], data, provider)


def groups_of(preset: AnyPreset, data: JsonObject, provider: str = "") -> tuple[FieldGroup, ...]:
    """The same of a preset that was read from that file."""
    if isinstance(preset, RisuSettings):
        return tuple(_risu_groups(preset, data))
    if isinstance(preset, MasterExport):
        return tuple(
            group
            for part, model in MASTER.items()
            for group in _groups(getattr(preset, part) or model(), provider, f"{part}.")
        ) + tuple(_other(preset.unknown, ""))
    return tuple(_groups(preset, provider, "")) if isinstance(preset, PresetFile) else ()


def prompt_groups(prompt: PresetPrompt) -> tuple[FieldGroup, ...]:
    """The fields of a prompt; the text of a marker is filled in."""
    groups = _groups(prompt, "", "")
    hidden = {"content"} if prompt.marker else set()
    return tuple(
        group.with_(fields=tuple(field for field in group.fields if field.name not in hidden)) for group in groups
    )


def card_groups(card: PromptCard) -> tuple[FieldGroup, ...]:
    """The fields of a card of RisuAI's template: those that count for its type, and the others folded away."""
    values = _spelt(card)
    looks = {**OF_CARDS, "type": OF_CARDS["type"].with_(choices={name: name for name in KNOWN_CARDS})}
    fields = {name: _field(name, *values[name], looks[name]) for name in looks}
    first = CARD_FIELDS.get(card.type, tuple(fields))
    known = {*spelling_of(PromptCard).values()}
    unknown = {key: value for key, value in card.written.items() if key not in known}
    return (
        FieldGroup(title=_("Card"), fields=tuple(fields[name] for name in first), is_open=True),
        FieldGroup(title=_("Further fields"), fields=tuple(fields[name] for name in fields if name not in first)),
        *_other(unknown, ""),
    )


def changed_boxes(groups: Iterable[FieldGroup], form: Mapping[str, str]) -> tuple[dict[str, Json], list[str]]:
    """What somebody has changed in the boxes of one object, and names of fields that are gone."""
    changed: dict[str, Json] = {}
    removed: list[str] = []
    boxes = [field for group in groups for field in group.fields]
    names = {field.name for field in boxes}
    for field in boxes:
        text = one_newline(form.get(field.name, field.value))
        if text == field.value:
            continue
        if field.name == OTHER:
            _take_other(changed, removed, field, text, names, "")
        else:
            changed[field.name] = _value(field, text)
    return changed, removed


def provider_kinds(kind: str) -> dict[str, str]:
    """The kinds of providers that prompts of such a preset go to."""
    is_text = kind in ("text", "master")
    return {
        one.id: one.label
        for one in PROVIDER_KINDS.values()
        if one.is_text == is_text and kind in ("chat", "text", "master")
    }


def _groups(preset: PresetFile, provider: str, above: str) -> Iterator[FieldGroup]:
    model = type(preset)
    known = {field.name: field for field in msgspec.structs.fields(model)}
    elsewhere = ELSEWHERE.get(model, frozenset()) - ({"name"} if above else set())
    left = [name for name in known if name not in ("unknown", "spelling", *elsewhere)]
    for title, is_open, looks in PARTS[model]:
        # The name of the preset itself has a box of its own.
        shown = [name for name in looks if name != "name" or above or model is PresetPrompt]
        fields = [
            _field(
                f"{above}{name}", known[name].type, getattr(preset, name), looks[name], provider, model is TextPreset
            )
            for name in shown
        ]
        left = [name for name in left if name not in looks]
        if fields:
            yield FieldGroup(title=title, fields=tuple(fields), is_open=is_open)
    if left:
        unnamed = (_field(f"{above}{name}", known[name].type, getattr(preset, name), None) for name in left)
        yield FieldGroup(title=UNNAMED[model], fields=tuple(unnamed))
    yield from _other(preset.unknown, above)


def _risu_groups(preset: RisuSettings, data: JsonObject) -> Iterator[FieldGroup]:
    values = {**_spelt(preset), **_spelt(preset.prompt, "promptSettings."), OF_PRESETS: (str, data.get(OF_PRESETS, ""))}
    left = dict(values)
    for title, is_open, looks in OF_RISUAI:
        fields = tuple(_field(name, *left.pop(name), looks[name]) for name in looks)
        yield FieldGroup(title=title, fields=fields, is_open=is_open)
    left = {name: value for name, value in left.items() if name not in ELSEWHERE[RisuSettings]}
    yield FieldGroup(
        title=UNNAMED[RisuSettings], fields=tuple(_field(name, *value, None) for name, value in left.items())
    )
    known = {*spelling_of(RisuSettings).values(), OF_PRESETS, "presetRegex", "name"}
    yield from _other({key: value for key, value in data.items() if key not in known}, "")


def _spelt(value: RisuSettings | TemplateSettings | PromptCard, above: str = "") -> dict[str, tuple[Any, Any]]:
    types = {field.name: field.type for field in msgspec.structs.fields(type(value))}
    written = value.write()
    found = {}
    for name, key in spelling_of(type(value)).items():
        plain = written.get(key, []) if name == "scripts" else getattr(value, name)
        found[f"{above}{key}"] = (types[name], plain)
    if "presetRegex" in written and not above:  # the name outside presets
        found["presetRegex"] = (types["scripts"], written["presetRegex"])
        del found["regex"]
    return found


def _other(unknown: JsonObject, above: str) -> Iterator[FieldGroup]:
    label = _("Fields without a control, as JSON")
    field = PresetField(name=f"{above}{OTHER}", label=label, type="object", control="json", value=_json(dict(unknown)))
    if unknown or not above:
        yield FieldGroup(title=_("Other data"), fields=(field,))


def _field(
    name: str, kind: Any, value: Any, look: Look | None, provider: str = "", is_text: bool = False
) -> PresetField:
    type, is_optional = _type_of(kind)
    shown = look or Look(label=name.rpartition(".")[2])
    text, choices = _shown(value, type, is_optional), shown.choices
    if type == "flag" and is_optional:
        choices = {"": _("Not set"), "on": _("On"), "off": _("Off")}
    if choices and text not in choices:
        choices = {**choices, text: _("Unknown ({value})", value=text)}
    least, most = (shown.least, shown.most) if not shown.sampler else _range(shown, provider, is_text)
    return PresetField(
        name=name,
        label=shown.label,
        type=type,
        control="choice" if choices else shown.control or _control(type, text),
        value=text,
        is_optional=is_optional,
        choices=choices,
        least=least,
        most=most,
        note=_sent_to(shown.sampler, is_text) if shown.sampler else "",
        is_named_by_file=look is None,
        has_macros=shown.has_macros,
    )


def _type_of(kind: Any) -> tuple[str, bool]:
    """What the file keeps, and whether it may be missing."""
    parts = [part for part in get_args(kind) if part is not type(None)]
    if kind == Json:
        return "any", True
    if kind == JsonObject or get_origin(kind) is dict:
        return "object", False
    if get_origin(kind) is Literal:
        return ("whole" if isinstance(parts[0], int) else "text"), False
    if get_origin(kind) is tuple:
        return ("texts" if parts[0] is str else "list"), False
    simple = {str: "text", int: "whole", float: "number", bool: "flag"}
    return (simple[kind], False) if kind in simple else (simple[parts[0]], True)


def _control(type: str, text: str) -> Control:
    match type:
        case "whole" | "number":
            return "number"
        case "flag":
            return "check"
        case "texts":
            return "lines"
        case "list" | "object" | "any":
            return "json"
        case _:
            return "area" if "\n" in text else "text"


def _shown(value: Any, type: str, is_optional: bool) -> str:
    match value:
        case bool() if type == "flag":
            return "on" if value else "off" if is_optional else ""
        case None:
            return "null" if type == "any" else ""
        case float() if value.is_integer():
            return str(int(value))
        case int() | float() if type in ("whole", "number"):
            return str(value)
        case str() if type == "text":
            return one_newline(storable(value))
        case tuple() | list() if type == "texts":
            return one_newline(storable("\n".join(value)))
        case tuple():
            return _json(list(value))
        case _:
            return _json(value)


def _json(value: Json) -> str:
    return storable(json.dumps(value, ensure_ascii=False, indent=2))


def _kinds(is_text: bool) -> list[ProviderKind]:
    return [kind for kind in PROVIDER_KINDS.values() if kind.is_text == is_text]


def _range(look: Look, provider: str, is_text: bool) -> tuple[float | None, float | None]:
    """What the kind of provider takes, or any of them."""
    chosen = [kind for kind in _kinds(is_text) if kind.sends(look.sampler) and provider in ("", kind.id)]
    ranges = [kind.ranges[look.sampler] for kind in chosen if look.sampler in kind.ranges]
    if not ranges:
        return look.least, look.most
    return min(least for least, _most in ranges), max(most for _least, most in ranges)


def _sent_to(sampler: str, is_text: bool) -> str:
    kinds = [kind for kind in _kinds(is_text) if kind.sends(sampler)]
    if not kinds:
        return _("Kept for SillyTavern; not sent from here.")
    if len(kinds) == len(_kinds(is_text)):
        return ""
    return _("Sent to: {providers}", providers=listed([kind.label for kind in kinds]))


def typed_groups(groups: Iterable[FieldGroup], form: Mapping[str, str]) -> tuple[FieldGroup, ...]:
    """The boxes with what somebody has typed into them."""
    return tuple(
        group.with_(
            fields=tuple(field.with_(value=one_newline(form.get(field.name, field.value))) for field in group.fields)
        )
        for group in groups
    )


def field_differences(typed: Iterable[FieldGroup], stored: Iterable[FieldGroup]) -> list[tuple[str, str]]:
    """The boxes in which something else stands than in the file, with what the file says."""
    now = {field.name: field for group in stored for field in group.fields}
    boxes = [field for group in typed for field in group.fields]
    return [(box.label, _in_words(now[box.name])) for box in boxes if box.value != now[box.name].value]


def _in_words(field: PresetField) -> str:
    if field.control == "check":
        return _("On") if field.value else _("Off")
    return field.choices.get(field.value, field.value) or "—"


def changed_fields(
    kind: str, data: JsonObject, form: Mapping[str, str], provider: str = ""
) -> tuple[dict[str, Json], list[str]]:
    """What somebody has changed in the boxes: fields of the file with their values, and names of those that are gone.

    Raises Refused for what makes no sense.
    """
    changed: dict[str, Json] = {}
    removed: list[str] = []
    groups = field_groups(kind, data, provider)
    names = {field.name for group in groups for field in group.fields}
    for group in groups:
        for field in group.fields:
            text = one_newline(form.get(field.name, field.value))
            if text == field.value:
                continue
            part, _dot, name = field.name.rpartition(".")
            inner = changed.get(part) or data.get(part) or {}
            target = changed if not part else dict(inner) if isinstance(inner, Mapping) else {}
            if name == OTHER:
                _take_other(target, removed if not part else None, field, text, names, part)
            else:
                target[name] = _value(field, text)
            if part:
                changed[part] = target
    return changed, removed


def _take_other(
    target: dict[str, Json], removed: list[str] | None, field: PresetField, text: str, names: set[str], part: str
) -> None:
    before, after = parse_json(field.value, what=str(field.label)), _value(field, text)
    if not isinstance(before, dict) or not isinstance(after, dict):
        return
    for key in after:
        if key not in before and (f"{part}.{key}" if part else key) in names:
            raise Refused("invalid", _("The field {field} has a control of its own.", field=key))
    for key in before.keys() - after.keys():
        if removed is None:
            target.pop(key, None)
        else:
            removed.append(key)
    target |= {key: value for key, value in after.items() if key not in before or before[key] != value}


def _value(field: PresetField, text: str) -> Json:
    """What a box says, as the file keeps it."""
    label = field.label
    match field.type:
        case "flag":
            return None if field.is_optional and not text else text == "on"
        case "whole" | "number":
            return None if field.is_optional and not text.strip() else _number(field, text.strip())
        case "texts":
            return [*as_lines(text)]
        case "list" | "object" | "any":
            return _parsed(field, text)
        case _:
            if len(text) > MAX_JSON:
                raise Refused(
                    "invalid", _("{field} must have at most {limit} characters.", field=label, limit=MAX_JSON)
                )
            return None if field.is_optional and not text else storable(text)


def _number(field: PresetField, text: str) -> Json:
    is_number = _NUMBER.fullmatch(text) is not None and len(text) <= 30 and math.isfinite(float(text))
    if not is_number or (field.type == "whole" and not float(text).is_integer()):
        if field.type == "whole":
            raise Refused("invalid", _("{field} must be a whole number.", field=field.label))
        raise Refused("invalid", _("{field} must be a number.", field=field.label))
    number = float(text)
    if field.least is not None and number < field.least:
        raise Refused("invalid", _("{field} must be at least {limit}.", field=field.label, limit=field.least))
    if field.most is not None and number > field.most:
        raise Refused("invalid", _("{field} must be at most {limit}.", field=field.label, limit=field.most))
    return int(number) if number.is_integer() else number


def _parsed(field: PresetField, text: str) -> Json:
    try:
        value = parse_json(text, what=str(field.label))
    except ParseError as error:
        raise Refused("invalid", _("{field} is not valid: {reason}.", field=field.label, reason=str(error))) from None
    wanted = {"list": list, "object": dict}.get(field.type)
    if wanted is not None and not isinstance(value, wanted):
        shape = _("a JSON list") if field.type == "list" else _("a JSON object")
        raise Refused("invalid", _("{field} must be {shape}.", field=field.label, shape=shape))
    return value
