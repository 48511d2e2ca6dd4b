"""From the schema and the layers to the fields of the tab with the settings, and back to a patch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Preset, Provider, SpaceMembership
from tavernkit.playground.base.languages import LANGUAGES, translated
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import ChoiceView, PanelView, panel_access, panel_view
from tavernkit.playground.edge.web.forms import one_newline
from tavernkit.playground.story.access.access import Access, SpaceAccess, active_members
from tavernkit.playground.story.presets.queries import presets_page
from tavernkit.playground.story.providers.queries import providers_page
from tavernkit.playground.story.settings.documents import SettingsOut
from tavernkit.playground.story.settings_schema.models import Layer, Source, Tab, VisibleWhen
from tavernkit.playground.story.settings_schema.resolving import (
    GROUPS,
    SETTINGS,
    Effective,
    Layered,
    Setting,
    effective,
    json_schema,
    own_values,
)
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json, JsonObject, Value


class SettingFieldView(Value, frozen=True, kw_only=True):
    """One setting. `value` is what stands in the control, `placeholder` what counts while it is empty.

    `own` is the layer's own value as JSON, `null` for none.
    """

    setting: Setting
    value: str
    own: str
    placeholder: str
    source: Source
    is_shown: bool
    choices: tuple[ChoiceView, ...]

    @property
    def id(self) -> str:
        return f"setting_{self.setting.path.replace('.', '_')}"

    @property
    def condition(self) -> str:
        """When it matters, as JSON."""
        condition = self.setting.leaf.visible_when
        return "" if condition is None else json.dumps(condition.to_json())

    @property
    def about(self) -> str:
        return _about(self.setting)

    @property
    def words(self) -> str:
        return _words(self.setting.path)

    @property
    def origin(self) -> str:
        """Where its value comes from; nothing for the default."""
        return _("Changed here") if self.own != "null" else SOURCES[self.source]

    @property
    def is_nullable(self) -> bool:
        return _is_nullable(self.setting)

    @property
    def is_whole(self) -> bool:
        return _is_whole(self.setting)

    @property
    def least(self) -> str:
        return self._limit("min")

    @property
    def most(self) -> str:
        return self._limit("max")

    @property
    def step(self) -> str:
        """Any whole number can be typed where the step is only a convenience; of others, every one."""
        if self.setting.leaf.control == "slider":
            return self._limit("step") or "any"
        return "1" if self.is_whole else "any"

    def _limit(self, name: str) -> str:
        return _control_text(_schema_of(self.setting).nested("x-ui").nested("range").raw(name))


class SettingsSection(Value, frozen=True, kw_only=True):
    """Settings below one heading."""

    key: str
    label: str
    about: str
    fields: tuple[SettingFieldView, ...]


class SettingsTab(Value, frozen=True, kw_only=True):
    """The sections of one tab."""

    key: Tab
    label: str
    sections: tuple[SettingsSection, ...]


class SettingsView(Value, frozen=True, kw_only=True):
    """The settings of one layer. `resource` is their address in the API, `context` what conditions are about (JSON)."""

    panel: PanelView
    layer: Layer
    layers: tuple[ChoiceView, ...]
    member_id: str
    members: tuple[ChoiceView, ...]
    version: int
    resource: str
    context: str
    tabs: tuple[SettingsTab, ...]
    may_change: bool


CHOICES_SHOWN = 200
UNSET = _("Not set")
NOT_A_NUMBER = "not a number"
"""Stands for a number that nobody can read, and that no setting takes."""

LAYER_LABELS: Mapping[Layer, str] = {"space": _("Space"), "member": _("Member"), "conversation": _("Conversation")}
TAB_LABELS: Mapping[Tab, str] = {
    "basic": _("Basic"),
    "prompts": _("Prompts"),
    "authors_note": _("Author's note"),
    "more": _("Reasoning"),
}
SOURCES: Mapping[Source, str] = {
    "default": "",
    "space": _("From the space"),
    "member": _("From the member"),
    "conversation": _("From the conversation"),
}
RESOURCES: Mapping[Layer, str] = {"space": "spaces", "member": "members", "conversation": "conversations"}


class _SettingsPlace(Value, frozen=True, kw_only=True):
    """The layer that is shown: what it sets itself, what counts in it, and what counted without it."""

    layer: Layer
    own: JsonObject
    counted: Effective
    below: Effective | None
    providers: Sequence[Provider]
    presets: Sequence[Preset]
    typed: Mapping[str, str]

    def own_value(self, setting: Setting) -> Json:
        group = self.own.get(setting.group)
        return group.get(setting.name) if isinstance(group, Mapping) else None

    def inherited(self, setting: Setting) -> Json:
        return setting.write(setting.default) if self.below is None else _value_in(self.below, setting)


async def settings_view(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    *,
    layer: Layer | None = None,
    member_id: UUID | None = None,
    typed: Mapping[str, str] | None = None,
    problem: str = "",
) -> SettingsView:
    """The settings of one layer; without one, that of the space for who may change it. `typed` stays in the fields."""
    async with runtime.database.read() as session:
        conversation, access = await panel_access(session, viewer, conversation_id)
        members = await active_members(session, access.space.id)
        layer = layer or ("space" if access.level >= Access.ADMINISTER else "conversation")
        member = _chosen(members, member_id)
        if (layer == "member" or member_id is not None) and member is None:
            raise not_found(_("member"))
        row, place = await _place(session, viewer, conversation, access, member, layer, typed or {})
    context: dict[str, Json] = {
        "provider_kind": _kind_of(place.providers, _value_in(place.counted, SETTINGS["model.provider_id"])),
        "is_group": sum(one.kind == "character" for one in members) > 1,
    }
    shown = (one for one in SETTINGS.values() if layer in one.leaf.layers and one.leaf.in_form)
    fields = [_field(setting, place, context) for setting in shown]
    return SettingsView(
        panel=panel_view(conversation, access, "settings", problem),
        layer=layer,
        layers=_layers(conversation, layer, members),
        member_id=str(member.id) if member is not None and layer == "member" else "",
        members=tuple(
            ChoiceView(value=str(one.id), label=shown_name(one.cached_display_name), is_chosen=one is member)
            for one in members
        ),
        version=row.settings_version,
        resource=f"/api/v1/{RESOURCES[layer]}/{row.id}/settings",
        context=json.dumps(context),
        tabs=tuple(_tabs(fields)),
        may_change=_may_change(access, conversation, layer, member),
    )


def typed_changes(form: Mapping[str, str], shown: list[str], layer: Layer, seen: SettingsOut) -> JsonObject:
    """A patch out of the fields of a form, of those that say something else than what is there."""
    patch: dict[str, dict[str, Json]] = {}
    for path in shown:
        setting = SETTINGS.get(path)
        if setting is None or layer not in setting.leaf.layers:
            continue
        value = _typed_value(setting, form.get(path, ""))
        own = seen.own.get(setting.group, {}).get(setting.name)
        there = own if _is_nullable(setting) else seen.effective[setting.group][setting.name].value
        if value != there:
            patch.setdefault(setting.group, {})[setting.name] = value
    return patch


def _tabs(fields: Sequence[SettingFieldView]) -> Iterator[SettingsTab]:
    """The tabs that have settings; on each, the quick ones come first."""
    for key, label in TAB_LABELS.items():
        groups = [name for name, group in GROUPS.items() if group.look.tab == key]
        sections = [
            SettingsSection(
                key=f"quick_{key}",
                label=_("Quick settings"),
                about="",
                fields=tuple(one for one in fields if one.setting.group in groups and one.setting.leaf.quick),
            ),
            *(
                SettingsSection(
                    key=name,
                    label=GROUPS[name].look.label,
                    about=_(_schema_of_group(name).text("description")),
                    fields=tuple(one for one in fields if one.setting.group == name and not one.setting.leaf.quick),
                )
                for name in groups
            ),
        ]
        filled = tuple(section for section in sections if section.fields)
        if filled:
            yield SettingsTab(key=key, label=label, sections=filled)


def _chosen(members: Sequence[SpaceMembership], member_id: UUID | None) -> SpaceMembership | None:
    """The member who is asked for, else the first character."""
    if member_id is not None:
        return next((member for member in members if member.id == member_id), None)
    return next((member for member in members if member.kind == "character"), members[0] if members else None)


async def _place(
    session: AsyncSession,
    viewer: Viewer,
    conversation: Conversation,
    access: SpaceAccess,
    member: SpaceMembership | None,
    layer: Layer,
    typed: Mapping[str, str],
) -> tuple[Layered, _SettingsPlace]:
    space = access.space
    row: Layered = space
    counted, below = effective(space), None
    if layer == "member" and member is not None:
        row, counted, below = member, effective(space, member=member), effective(space)
    elif layer == "conversation":
        row, counted, below = conversation, effective(space, conversation=conversation), effective(space)
    return row, _SettingsPlace(
        layer=layer,
        own=own_values(row, layer),
        counted=counted,
        below=below,
        providers=await providers_page(session, viewer, behind=None, limit=CHOICES_SHOWN),
        presets=await presets_page(session, viewer, kind=None, behind=None, limit=CHOICES_SHOWN),
        typed=typed,
    )


def _layers(conversation: Conversation, layer: Layer, members: Sequence[SpaceMembership]) -> tuple[ChoiceView, ...]:
    return tuple(
        ChoiceView(
            value=f"/conversations/{conversation.id}/panel/settings?layer={key}",
            label=label,
            is_chosen=key == layer,
            hint=key,
        )
        for key, label in LAYER_LABELS.items()
        if key != "member" or members
    )


def _may_change(access: SpaceAccess, conversation: Conversation, layer: Layer, member: SpaceMembership | None) -> bool:
    if access.space.status != "active":
        return False
    if layer == "conversation":
        return access.level >= Access.MODERATE and conversation.status == "ready"
    is_self = layer == "member" and member is not None and access.member is not None and member.id == access.member.id
    return access.level >= Access.ADMINISTER or is_self


def _field(setting: Setting, place: _SettingsPlace, context: Mapping[str, Json]) -> SettingFieldView:
    own, inherited = place.own_value(setting), place.inherited(setting)
    value = own if own is not None or _is_nullable(setting) else _value_in(place.counted, setting)
    text = place.typed.get(setting.path, _control_text(value))
    return SettingFieldView(
        setting=setting,
        value=text,
        own=json.dumps(own),
        placeholder=_control_text(inherited) or UNSET if _is_nullable(setting) else "",
        source=place.counted.sources[setting.path],
        is_shown=own is not None or _matters(setting.leaf.visible_when, place.counted, context),
        choices=_choices(setting, place, text, inherited),
    )


def _choices(setting: Setting, place: _SettingsPlace, chosen: str, inherited: Json) -> tuple[ChoiceView, ...]:
    leaf = setting.leaf
    if not leaf.refers_to:
        return tuple(ChoiceView(value=key, label=label, is_chosen=key == chosen) for key, label in leaf.labels.items())
    rows: Sequence[Provider | Preset]
    if "provider" in leaf.refers_to:
        rows = [row for row in place.providers if not row.disabled or str(row.id) == chosen]
    else:
        rows = [row for row in place.presets if row.kind in leaf.refers_to or str(row.id) == chosen]
    names = {str(row.id): shown_name(row.name) for row in rows}
    usual = _("Default") if place.layer == "space" else _("Space default")
    name = names.get(str(inherited), "")
    first = ChoiceView(
        value="",
        label=_("{choice}: {name}", choice=usual, name=name) if name else usual,
        is_chosen=not chosen,
        hint=_kind_of(place.providers, inherited),
    )
    return first, *(
        ChoiceView(
            value=str(row.id),
            label=names[str(row.id)],
            is_chosen=str(row.id) == chosen,
            hint=row.kind if isinstance(row, Provider) else "",
        )
        for row in rows
    )


def _kind_of(providers: Sequence[Provider], id: Json) -> str:
    """What kind of model answers where this provider is chosen, or none is."""
    for row in providers:
        if str(row.id) == id or (id is None and row.is_default):
            return row.kind
    return ""


def _matters(condition: VisibleWhen | None, counted: Effective, context: Mapping[str, Json]) -> bool:
    if condition is None:
        return True
    if condition.ref is not None:
        return _value_in(counted, SETTINGS[condition.ref]) in condition.values
    return context.get(condition.context or "") in condition.values


def _value_in(counted: Effective, setting: Setting) -> Json:
    group: Any = getattr(counted.settings, setting.group)
    return setting.write(getattr(group, setting.name))


def _schema_of_group(name: str) -> LooseObject:
    return LooseObject(json_schema(), ReportBuilder()).nested("properties").nested(name)


def _schema_of(setting: Setting) -> LooseObject:
    """What the schema says about one setting."""
    return _schema_of_group(setting.group).nested("properties").nested(setting.name)


def _about(setting: Setting) -> str:
    return _(_schema_of(setting).text("description"))


@cache
def _words(path: str) -> str:
    """What a setting is found by: its label, description and choices in every language, and its path."""
    setting = SETTINGS[path]
    said = (setting.leaf.label, _about(setting), *setting.leaf.labels.values())
    found = dict.fromkeys(translated(one, language).lower() for language in LANGUAGES for one in said)
    return " ".join((*found, path))


def _is_nullable(setting: Setting) -> bool:
    """Whether the setting can be left to the preset, the card or the provider."""
    return any(kind.text("type") == "null" for kind in _schema_of(setting).objects("anyOf"))


def _is_whole(setting: Setting) -> bool:
    """Whether its numbers are whole ones."""
    schema = _schema_of(setting)
    return any(kind.text("type") == "integer" for kind in (schema, *schema.objects("anyOf")))


def _control_text(value: Json) -> str:
    """A value as it stands in its control; nothing at all for null."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case list():
            return "\n".join(str(item) for item in value)
        case _:
            return str(value)


def _typed_value(setting: Setting, text: str) -> Json:
    text = one_newline(text)
    match setting.leaf.control:
        case "toggle":
            return text == "true"
        case "number" | "slider":
            return _number(text, whole=_is_whole(setting))
        case "tags":
            return [line for line in text.split("\n") if line] or None
        case _:
            return text if text or not _is_nullable(setting) else None


def _number(text: str, *, whole: bool) -> Json:
    if not text.strip():
        return None
    try:
        number: Json = json.loads(text)
    except ValueError:
        return NOT_A_NUMBER
    if isinstance(number, bool) or not isinstance(number, int | float):
        return NOT_A_NUMBER
    return int(number) if whole and number == int(number) else number
