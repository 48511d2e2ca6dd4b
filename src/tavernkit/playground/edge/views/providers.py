"""What the pages about models are given."""

from __future__ import annotations

from datetime import datetime

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.addresses import without_credentials
from tavernkit.playground.base.llm.kinds import kind_of
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.providers.documents import ModelsOut, TrialOut
from tavernkit.playground.story.providers.queries import providers_page
from tavernkit.values import Value

MOST_SHOWN = 200


class ProviderRow(Value, frozen=True, kw_only=True):
    """A provider in the list; of its key it is only said whether there is one."""

    id: str
    name: str
    kind_name: str
    kind_note: str
    fields: frozenset[str]
    address: str
    model: str
    has_key: bool
    is_default: bool
    disabled: bool
    is_built_in: bool
    is_installed: bool
    last_tested_at: datetime | None


class ModelsView(Value, frozen=True, kw_only=True):
    """The page of models; who may not change them sees those that can be chosen."""

    providers: tuple[ProviderRow, ...]
    may_change: bool
    data_dir: str


class Answer(Value, frozen=True, kw_only=True):
    """What came back from a provider, as a sentence."""

    ok: bool
    sentence: str


async def models_view(runtime: Runtime, viewer: Viewer) -> ModelsView:
    """The providers that this person can see."""
    may_change = viewer.is_administrator and viewer.via != "api_key"
    async with runtime.database.read() as session:
        rows = await providers_page(session, viewer, behind=None, limit=MOST_SHOWN)
    return ModelsView(
        # The default comes first: it is the one that most people want to know.
        providers=tuple(
            provider_row(row, has_embedded=runtime.models.has_embedded)
            for row in sorted(rows, key=lambda row: not row.is_default)
        ),
        may_change=may_change,
        data_dir=str(runtime.settings.data_dir) if may_change else "",
    )


def provider_row(row: Provider, *, has_embedded: bool = True) -> ProviderRow:
    kind = kind_of(row)
    return ProviderRow(
        id=str(row.id),
        name=shown_name(row.name),
        kind_name=kind.label,
        kind_note=kind.note or kind.label,
        fields=kind.fields,
        address=without_credentials(row.base_url),
        model=row.model,
        has_key=row.api_key is not None,
        is_default=row.is_default,
        disabled=row.disabled,
        is_built_in=kind.is_built_in,
        is_installed=not kind.is_built_in or has_embedded,
        last_tested_at=row.last_tested_at,
    )


def answer_of(row: Provider, trial: TrialOut) -> Answer:
    """What became of a test."""
    if trial.problem is not None:
        return Answer(ok=False, sentence=trial.problem.sentence)
    return Answer(ok=True, sentence=f"{row.name} answers. The first word came after {trial.milliseconds / 1000:.1f} s.")


def models_answer(row: Provider, listed: ModelsOut) -> Answer:
    """What became of asking for the models."""
    if listed.problem is not None:
        return Answer(ok=False, sentence=listed.problem.sentence)
    count = len(listed.models)
    if not count:
        return Answer(
            ok=False, sentence=f"{row.name} names no models. Write the name yourself, as its documentation has it."
        )
    if count == 1:
        return Answer(ok=True, sentence=f"{row.name} has one model, {listed.models[0]}. The field suggests it.")
    return Answer(ok=True, sentence=f"{row.name} has {count} models. The field suggests them while you type.")
