"""What the pages about models are given."""

from __future__ import annotations

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.llm.kinds import ProviderKind, kind_of
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.providers.documents import ModelsOut, TrialOut
from tavernkit.playground.story.providers.queries import providers_page
from tavernkit.values import Value

MOST_SHOWN = 200


class ModelsView(Value, frozen=True, kw_only=True):
    """The page of models; who may not change them sees those that can be chosen."""

    providers: tuple[tuple[Provider, ProviderKind], ...]
    has_embedded: bool
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
        providers=tuple((row, kind_of(row)) for row in sorted(rows, key=lambda row: not row.is_default)),
        has_embedded=runtime.models.has_embedded,
        may_change=may_change,
        data_dir=str(runtime.settings.data_dir) if may_change else "",
    )


def answer_of(row: Provider, trial: TrialOut) -> Answer:
    """What became of a test."""
    if trial.problem is not None:
        return Answer(ok=False, sentence=trial.problem.sentence)
    seconds = round(trial.milliseconds / 1000, 1)
    sentence = _("{name} works. The first word arrived after {seconds} s.", name=row.name, seconds=seconds)
    return Answer(ok=True, sentence=sentence)


def models_answer(row: Provider, listed: ModelsOut) -> Answer:
    """What became of asking for the models."""
    if listed.problem is not None:
        return Answer(ok=False, sentence=listed.problem.sentence)
    count = len(listed.models)
    if not count:
        sentence = _("{name} lists no models. Enter the model name from its documentation.", name=row.name)
        return Answer(ok=False, sentence=sentence)
    sentence = ngettext(
        "{name} has {count} model: {model}. Choose it in the Model field.",
        "{name} has {count} models. Choose one in the Model field.",
        count,
        name=row.name,
        model=listed.models[0],
    )
    return Answer(ok=True, sentence=sentence)
