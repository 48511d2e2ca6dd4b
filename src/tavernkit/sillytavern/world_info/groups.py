"""Inclusion groups: of the entries that woke up together, one for each group may stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tavernkit.sillytavern.world_info.fields import Logic, WorldEntry
from tavernkit.values import Value

Score = Callable[[int], int]


class Loss(Value, frozen=True, kw_only=True):
    """Who lost which group; `winner` is the place of an entry, or None where several stay."""

    group: str
    winner: int | None = None


def settle_groups(
    places: Sequence[int],
    entries: Mapping[int, WorldEntry],
    *,
    activated: Mapping[str, int],
    sticky: set[int],
    cooling: set[int],
    score: Score,
    uses_scoring: bool,
    random: Callable[[], float],
) -> dict[int, Loss]:
    """The entries among `places` that lose a group, and to whom.

    `activated` maps the whole group text of entries that woke up in earlier passes to their place. `cooling` are the
    entries that are in their cooldown: only a sticky one can have woken up, and a group still has no room for it.
    """
    losses: dict[int, Loss] = {}
    staying = dict.fromkeys(places)

    def lose(losers: Iterable[int], group: str, winner: int | None) -> None:
        for place in losers:
            if place == winner:
                continue
            # As there, who is out already and loses another group takes along whoever is last, in that group or not.
            gone = place if place in staying else next(reversed(staying), None)
            if gone is not None:
                del staying[gone]
                losses[gone] = Loss(group=group, winner=winner)

    groups = _members(places, entries)
    held: set[str] = set()
    for name, members in groups.items():
        kept = [place for place in members if place in sticky]
        if kept:
            held.add(name)
            lose((place for place in members if place not in sticky), name, kept[0])
        lose((place for place in members if place in cooling), name, None)
    for name in groups:
        if name not in held:
            groups[name] = _best_scored(name, groups[name], entries, score, uses_scoring, lose)
    for name, members in groups.items():
        if name in held:
            continue
        if name in activated:
            lose(members, name, activated[name])
        elif len(members) > 1:
            winner = _winner(members, entries, random)
            if winner is not None:
                lose(members, name, winner)
    return losses


def total_score(entry: WorldEntry, primary: int, secondary: int) -> int:
    """The score of an entry of whose keys so many were found; only logics that ask for keys count them."""
    wanted = len(entry.source.secondary_keys)
    if not entry.keys:
        return 0
    if wanted and (entry.logic == Logic.AND_ANY or (entry.logic == Logic.AND_ALL and secondary == wanted)):
        return primary + secondary
    return primary


def _members(places: Sequence[int], entries: Mapping[int, WorldEntry]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for place in places:
        for name in entries[place].groups:
            groups.setdefault(name, []).append(place)
    # SillyTavern goes through an object, where JavaScript puts names that are whole numbers first.
    numbers = sorted((name for name in groups if name.isascii() and name.isdigit() and str(int(name)) == name), key=int)
    return {name: groups[name] for name in dict.fromkeys([*numbers, *groups])}


def _best_scored(
    name: str,
    members: list[int],
    entries: Mapping[int, WorldEntry],
    score: Score,
    uses_scoring: bool,
    lose: Callable[[Iterable[int], str, int | None], None],
) -> list[int]:
    if not uses_scoring and not any(entries[place].use_group_scoring for place in members):
        return members
    scores = {place: score(place) for place in members}
    best = max(members, key=lambda place: scores[place])

    def is_beaten(place: int) -> bool:
        own = entries[place].use_group_scoring
        return (uses_scoring if own is None else own) and scores[place] < scores[best]

    lose((place for place in members if is_beaten(place)), name, best)
    return [place for place in members if not is_beaten(place)]


def _winner(members: Sequence[int], entries: Mapping[int, WorldEntry], random: Callable[[], float]) -> int | None:
    overriding = [place for place in members if entries[place].group_override]
    if overriding:
        return max(overriding, key=lambda place: entries[place].order)
    roll = random() * sum(entries[place].group_weight for place in members)
    reached = 0.0
    for place in members:
        reached += entries[place].group_weight
        if roll <= reached:
            return place
    return None
