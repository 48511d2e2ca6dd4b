"""The cards of RisuAI's prompt template: added, changed, moved and removed by their places."""

from __future__ import annotations

from collections.abc import Sequence

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.settings import PromptCard, RisuSettings
from tavernkit.risuai.template.cards import KNOWN_CARDS
from tavernkit.values import JsonObject

MAX_CARDS = 1000


def card_at(settings: RisuSettings, place: int) -> PromptCard:
    """The card at a place, counted from 0."""
    cards = settings.template or ()
    if not 0 <= place < len(cards):
        raise not_found(_("card"))
    return cards[place]


def with_card(settings: RisuSettings, card: PromptCard) -> RisuSettings:
    """Put a new card behind the others; a preset in RisuAI's older way becomes one with a template."""
    cards = settings.template or ()
    if len(cards) >= MAX_CARDS:
        raise Refused("conflict", _("The preset is full. The limit is {limit} cards.", limit=MAX_CARDS))
    if card.type not in KNOWN_CARDS:
        raise Refused("invalid", _("RisuAI has no card of the type “{type}”.", type=card.type))
    return settings.with_(template=(*cards, card))


def with_changed_card(
    settings: RisuSettings, place: int, changed: JsonObject, removed: Sequence[str] = ()
) -> RisuSettings:
    """Change fields of a card as its file has them; one that is null is taken out."""
    fields = {**card_at(settings, place).write(), **changed}
    kept = {key: value for key, value in fields.items() if value is not None and key not in removed}
    card = PromptCard.read(LooseObject(kept, ReportBuilder()))
    return settings.with_(
        template=tuple(card if at == place else other for at, other in enumerate(settings.template or ()))
    )


def without_card(settings: RisuSettings, place: int) -> RisuSettings:
    """Remove a card."""
    card_at(settings, place)
    return settings.with_(template=tuple(card for at, card in enumerate(settings.template or ()) if at != place))


def with_moved_card(settings: RisuSettings, place: int, to: int) -> RisuSettings:
    """Take a card to another place."""
    card_at(settings, place), card_at(settings, to)
    cards = list(settings.template or ())
    cards.insert(to, cards.pop(place))
    return settings.with_(template=tuple(cards))
