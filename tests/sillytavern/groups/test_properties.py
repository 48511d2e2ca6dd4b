"""What holds for any group, any chat and any chance."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.sillytavern.groups.builders import member

from tavernkit.sillytavern.errors import DepartedMemberError
from tavernkit.sillytavern.groups import (
    CardMode,
    Decision,
    GroupActivation,
    GroupStrategy,
    StoryGroup,
    activate,
    decide,
    join_cards,
    read_group,
)
from tavernkit.sillytavern.turns import ChatTurn

NAMES = ("Vesper", "Tamsin Oak", "Brock", "Zoë", "東", "Sam Oak")
AVATARS = tuple(f"{name.lower()}.png" for name in NAMES)
WORDS = (*NAMES, "oak", "hm", "x_y", "", "vesper's")

avatars = st.sampled_from((*AVATARS, "ghost.png"))
casts = st.lists(
    st.builds(member, st.sampled_from(NAMES), st.sampled_from([-1, 0, 0.3, 0.5, 1, 2])), min_size=1, max_size=6
).map(tuple)
groups = st.builds(
    StoryGroup,
    cast=casts,
    members=st.lists(avatars, max_size=6).map(tuple),
    disabled=st.frozensets(avatars, max_size=3),
    activation_strategy=st.sampled_from([*GroupStrategy, None]),
    generation_mode=st.sampled_from(CardMode),
    allow_self_responses=st.booleans(),
)
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
chats = st.lists(
    st.builds(
        ChatTurn,
        index=st.just(0),
        text=texts,
        name=st.sampled_from((*NAMES, "Orrin")),
        is_user=st.booleans(),
        is_system=st.booleans(),
        is_narrator=st.booleans(),
        original_avatar=st.none() | avatars,
    ),
    max_size=5,
)
situations = st.fixed_dictionaries(
    {
        "chat": chats,
        "user_input": texts,
        "generation_type": st.sampled_from([None, "normal", "quiet", "swipe", "continue", "impersonate"]),
        "by_auto_mode": st.booleans(),
    }
)
seeds = st.integers(0, 1000)


def run(group: StoryGroup, situation: dict[str, Any], seed: int) -> GroupActivation | None:
    try:
        return activate(group, random=Random(seed).random, **situation)
    except DepartedMemberError:
        return None


@given(groups, situations, seeds)
def test_every_speaker_is_at_hand_and_has_a_reason(group: StoryGroup, situation: dict[str, Any], seed: int) -> None:
    activation = run(group, situation, seed)
    if activation is not None:
        assert set(activation.speakers) <= set(group.loaded())
        assert len(activation.explain(group)) == len(activation.speakers)


@given(groups, situations, seeds)
def test_by_strategy_only_unmuted_members_speak_and_each_once(
    group: StoryGroup, situation: dict[str, Any], seed: int
) -> None:
    activation = run(group, {**situation, "generation_type": "normal"}, seed)
    assert activation is not None
    assert set(activation.speakers) <= set(group.enabled)
    assert set(Counter(activation.speakers).values()) <= {1}


@given(groups, situations, seeds)
def test_the_same_numbers_choose_the_same_speakers(group: StoryGroup, situation: dict[str, Any], seed: int) -> None:
    assert run(group, situation, seed) == run(group, situation, seed)


@given(groups, situations, seeds)
def test_the_order_of_the_cast_does_not_matter_where_names_are_unique(
    group: StoryGroup, situation: dict[str, Any], seed: int
) -> None:
    unique = tuple(group.loaded().values())
    group = group.with_(cast=unique)
    assert run(group, situation, seed) == run(group.with_(cast=unique[::-1]), situation, seed)


@given(groups, situations, seeds)
def test_in_list_order_everybody_unmuted_speaks(group: StoryGroup, situation: dict[str, Any], seed: int) -> None:
    group = group.with_(activation_strategy=GroupStrategy.LIST)
    activation = run(group, {**situation, "generation_type": None}, seed)
    assert activation is not None
    loaded = group.loaded()
    assert list(activation.speakers) == [avatar for avatar in dict.fromkeys(group.enabled) if avatar in loaded]


@given(groups, situations, seeds)
def test_in_natural_order_somebody_speaks_if_everybody_is_at_hand(
    group: StoryGroup, situation: dict[str, Any], seed: int
) -> None:
    loaded = group.loaded()
    members = tuple(avatar for avatar in group.members if avatar in loaded)
    group = group.with_(activation_strategy=GroupStrategy.NATURAL, members=members)
    activation = run(group, {**situation, "generation_type": None}, seed)
    assert activation is not None
    assert bool(activation.speakers) == bool(group.enabled)
    assert all(roll.avatar in activation.speakers for roll in activation.rolls if roll.speaks)


@given(groups, situations, seeds)
def test_pooled_order_gives_everybody_a_turn_before_anybody_has_two(
    group: StoryGroup, situation: dict[str, Any], seed: int
) -> None:
    unique = tuple(dict.fromkeys(member.avatar for member in group.cast))
    group = group.with_(activation_strategy=GroupStrategy.POOLED, members=unique, disabled=frozenset())
    random = Random(seed).random
    chat = [ChatTurn(index=0, text="go", name="Orrin", is_user=True)]
    for _ in unique:
        (speaker,) = activate(group, chat=chat, random=random).speakers
        chat.append(ChatTurn(index=len(chat), text="…", name=group.find(speaker).name, original_avatar=speaker))
    assert sorted(str(turn.original_avatar) for turn in chat[1:]) == sorted(unique)


@given(groups, situations, seeds)
def test_a_decision_survives_storage_and_agrees_with_itself(
    group: StoryGroup, situation: dict[str, Any], seed: int
) -> None:
    activation = run(group, situation, seed)
    if activation is None:
        return
    stored = Decision.from_dict(json.loads(json.dumps(Decision.of(activation).to_dict(), allow_nan=False)))
    assert decide(group, random=Random(seed).random, decision=stored, **situation).warnings == ()


@given(groups, st.data())
def test_appending_the_muted_too_never_says_less(group: StoryGroup, data: st.DataObject) -> None:
    cast = tuple(member.with_(character=member.character.with_(description=member.name)) for member in group.cast)
    speaker = data.draw(st.sampled_from(cast)).avatar
    some, everybody = (
        join_cards(group.with_(cast=cast, generation_mode=mode), speaker, expand=lambda text, _: text)
        for mode in (CardMode.APPEND, CardMode.APPEND_DISABLED)
    )
    if some is None or everybody is None:
        assert group.members == ()
        return
    assert set(some.description.split("\n")) - {""} <= set(everybody.description.split("\n"))
    assert len(everybody.description.split("\n")) == max(len(group.present), 1)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ("members", "disabled_members", "activation_strategy", "generation_mode", "allow_self_responses")


@given(st.dictionaries(st.sampled_from(FIELDS), json_values), situations, seeds)
def test_any_file_is_read_as_some_group(source: dict[str, Any], situation: dict[str, Any], seed: int) -> None:
    run(read_group(source, (member("Mira"),)), situation, seed)
