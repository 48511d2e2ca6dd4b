"""What the tab with the settings is given."""

from __future__ import annotations

from tavernkit.playground.edge.views.spaces import ChoiceView, PanelView
from tavernkit.playground.story.settings_schema.leaf import Control, Layer, Source
from tavernkit.values import Value


class SettingFieldView(Value, frozen=True, kw_only=True):
    """One setting. `value` is what stands in the control, `placeholder` what counts while it is empty.

    `own` is the layer's own value as JSON, `null` for none. `condition` says, as JSON, when it matters.
    """

    path: str
    label: str
    about: str
    control: Control
    value: str
    own: str
    placeholder: str
    source: Source
    is_own: bool
    is_nullable: bool
    is_whole: bool
    is_quick: bool
    is_shown: bool
    condition: str
    least: str
    most: str
    step: str
    rows: int
    choices: tuple[ChoiceView, ...]

    @property
    def group(self) -> str:
        return self.path.partition(".")[0]

    @property
    def id(self) -> str:
        return f"setting_{self.path.replace('.', '_')}"


class GroupView(Value, frozen=True, kw_only=True):
    """Settings under one heading."""

    key: str
    label: str
    about: str
    fields: tuple[SettingFieldView, ...]


class LayerView(Value, frozen=True, kw_only=True):
    """A place where settings can be made."""

    label: str
    address: str
    is_current: bool


class SettingsView(Value, frozen=True, kw_only=True):
    """The settings of one layer. `resource` is their address in the API, `context` what conditions are about (JSON)."""

    panel: PanelView
    layer: Layer
    layers: tuple[LayerView, ...]
    member_id: str
    members: tuple[ChoiceView, ...]
    version: int
    resource: str
    context: str
    quick: tuple[SettingFieldView, ...]
    groups: tuple[GroupView, ...]
    may_change: bool
