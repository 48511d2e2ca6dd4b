"""What the application must know of a kind of provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.http_model import HttpModel, Timeouts
from tavernkit.values import Json, Value

FIELDS = frozenset({"base_url", "api_key", "model", "streamable", "timeouts"})
"""What a provider may have beside its name, its limits of tokens and its settings."""


class ProviderKind(Value, frozen=True, kw_only=True):
    """A kind of provider: how it is called, shown, asked and reached."""

    id: str
    """In the database and in the API."""
    label: str
    client: type[HttpModel] | None
    """Who talks to its servers, and lists their models; None for the model that is built in."""
    dialect: str
    dialect_options: Mapping[str, Json] = {}
    """How prompts are written where nobody has chosen it."""
    home: str = ""
    """The address of a provider that is given none."""
    timeouts: Timeouts = Timeouts()

    fields: frozenset[str] = FIELDS
    """Those of `FIELDS` that can be filled in."""
    note: str = ""
    """What stands above them in place of the label."""
    missing_field: str = _("Providers of this kind do not have this field.")
    """The refusal of a value for a field that cannot be filled in."""
    settings: frozenset[str]
    """Which of the story's settings are shown for it, of those that not every kind has."""

    samplers: tuple[str, ...]
    """What it can be asked beside length, temperature and stops; everything else is left out."""
    sampler_names: Mapping[str, str] = {}
    """Its own names for samplers, where they differ from the usual ones."""
    ranges: Mapping[str, tuple[float, float]] = {}
    """What it takes for samplers, temperature among them: the least and the most; others are not limited."""
    max_stops: int | None = None
    takes_json_schema: bool = False
    risu_model: str = "reverse_proxy"
    """What RisuAI calls its models; how RisuAI joins messages depends on it."""

    @property
    def is_built_in(self) -> bool:
        return self.client is None

    @property
    def is_text(self) -> bool:
        """Whether it continues a text, instead of answering messages."""
        return self.dialect == "text"

    def sends(self, name: str) -> bool:
        """Whether a request to it has the sampler of that name."""
        return name in ("temperature", "max_tokens") or name in self.samplers

    def sampling(self, wanted: Mapping[str, Json]) -> dict[str, Json]:
        """The samplers that it can be asked for, under its own names."""
        return {self.sampler_names.get(name, name): wanted[name] for name in self.samplers if name in wanted}

    def stops(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """As many of them as it takes."""
        return tuple(wanted)[: self.max_stops]
