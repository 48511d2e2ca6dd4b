"""Who speaks next, and why."""

from __future__ import annotations

from typing import get_args

import pytest
from tests.sillytavern.groups.builders import causes, chat, choose, member, names, trio

from tavernkit.sillytavern.errors import DepartedMemberError, UnknownMemberError
from tavernkit.sillytavern.groups import CAUSES, GroupStrategy, Roll, SpeakerCause, SpeakerReason, StoryGroup
from tavernkit.sillytavern.turns import ChatTurn

LIST, MANUAL, POOLED = (
    trio(activation_strategy=each) for each in (GroupStrategy.LIST, GroupStrategy.MANUAL, GroupStrategy.POOLED)
)
HIDDEN = ChatTurn(index=9, name="Tamsin", text="psst", is_system=True, original_avatar="tamsin.png")
NARRATOR = ChatTurn(index=9, name="Narrator", text="Night falls.", is_narrator=True)


class TestTheTextThatIsSearched:
    def test_is_what_was_typed(self) -> None:
        activation = choose(LIST, chat=chat(("Brock", "b")), user_input="hello")
        assert (activation.activation_text, activation.is_user_input) == ("hello", True)

    def test_is_the_last_message_where_nothing_was_typed(self) -> None:
        activation = choose(LIST, chat=chat(("Orrin", "x"), ("Brock", "b")))
        assert (activation.activation_text, activation.is_user_input) == ("b", False)

    def test_is_the_last_message_in_auto_mode_whatever_was_typed(self) -> None:
        activation = choose(LIST, chat=chat(("Brock", "b")), user_input="hello", by_auto_mode=True)
        assert (activation.activation_text, activation.is_user_input) == ("b", False)

    def test_is_empty_behind_a_hidden_message_and_in_an_empty_chat(self) -> None:
        assert choose(LIST, chat=[HIDDEN]).activation_text == ""
        assert choose(LIST).activation_text == ""


class TestNaturalOrder:
    def test_those_mentioned_speak_in_the_order_of_the_words(self) -> None:
        activation = choose(trio(), 0.9, user_input="BROCK, and vesper, and brock")
        assert names(activation) == ["brock", "vesper"]
        assert activation.reasons[0] == SpeakerReason(cause="mention", word="brock")

    def test_one_word_of_a_name_is_enough_and_the_first_who_has_it_speaks(self) -> None:
        group = StoryGroup.of(member("Sam Reed", 0), member("Sam Oak", 0))
        assert names(choose(group, 0.9, user_input="Sam?")) == ["sam reed"]
        assert names(choose(group, 0.9, user_input="Sam Oak?")) == ["sam reed", "sam oak"]

    def test_part_of_a_word_is_no_mention(self) -> None:
        assert causes(choose(trio(), 0.9, user_input="Brocks boat, vesper_x")) == ["random"]

    def test_only_ascii_makes_words(self) -> None:
        group = StoryGroup.of(member("Анна", 0), member("Zoë", 0))
        assert causes(choose(group, 0.9, user_input="Анна")) == ["random"]
        assert names(choose(group, 0.9, user_input="zo")) == ["zoë"]

    def test_the_talkative_follow_in_shuffled_order_each_with_a_roll(self) -> None:
        activation = choose(trio(0.2, 0.8, 0.5), 0.1, 0.6, 0.3, user_input="hm")
        assert activation.rolls == (
            Roll(avatar="brock.png", roll=0.1, threshold=0.5),
            Roll(avatar="tamsin.png", roll=0.6, threshold=0.8),
            Roll(avatar="vesper.png", roll=0.3, threshold=0.2),
        )
        assert names(activation) == ["brock", "tamsin"]
        assert activation.reasons[0] == SpeakerReason(cause="talkativeness", roll=0.1, threshold=0.5)

    def test_a_roll_equal_to_the_talkativeness_is_enough(self) -> None:
        activation = choose(StoryGroup.of(member("Solo", 0.5)), 0.5, user_input="hm")
        assert activation.rolls == (Roll(avatar="solo.png", roll=0.5, threshold=0.5),)
        assert causes(activation) == ["talkativeness"]

    def test_who_was_mentioned_and_is_talkative_speaks_once(self) -> None:
        activation = choose(trio(1, 1, 1), 0.5, user_input="Tamsin")
        assert (names(activation)[0], sorted(names(activation))) == ("tamsin", ["brock", "tamsin", "vesper"])

    def test_when_nobody_would_speak_one_of_the_talkative_is_drawn(self) -> None:
        activation = choose(trio(0, 0.1, 0), 0.9, user_input="hm")
        assert (names(activation), activation.reasons) == (
            ["tamsin"],
            (SpeakerReason(cause="random", roll=0.9, pool=1),),
        )

    def test_nobody_answers_themselves(self) -> None:
        activation = choose(trio(1, 1, 1), 0.2, chat=chat(("Tamsin", "I, Tamsin, am done.")))
        assert (sorted(names(activation)), activation.banned) == (["brock", "vesper"], "Tamsin")

    def test_unless_that_is_allowed_or_the_user_has_spoken(self) -> None:
        said = chat(("Tamsin", "Tamsin is done."))
        assert names(choose(trio(allow_self_responses=True), 0.9, chat=said)) == ["tamsin"]
        assert names(choose(trio(), 0.9, chat=said, user_input="Tamsin?")) == ["tamsin"]

    def test_the_only_member_answers_itself_rather_than_nobody(self) -> None:
        assert names(choose(StoryGroup.of(member("Solo", 1)), 0.3, chat=chat(("Solo", "done")))) == ["solo"]

    def test_muted_and_absent_members_are_not_chosen(self) -> None:
        group = trio(1, 1, 1, disabled=frozenset({"tamsin.png"}))
        assert "tamsin" not in names(choose(group, 0.1, user_input="Tamsin!"))
        absent = trio(1, 1, 1, members=("ghost.png", "brock.png"))
        assert names(choose(absent, 0.1, 0.2, user_input="ghost")) == ["brock"]

    def test_a_text_of_a_million_words_is_read_once(self) -> None:
        assert names(choose(trio(), 0.9, user_input="word " * 1_000_000 + "brock")) == ["brock"]


class TestListOrder:
    def test_everybody_speaks_in_order_but_the_muted(self) -> None:
        group = LIST.with_(disabled=frozenset({"tamsin.png"}))
        assert (names(choose(group)), causes(choose(group))) == (["vesper", "brock"], ["list", "list"])

    def test_who_is_twice_in_the_group_speaks_once(self) -> None:
        assert names(choose(LIST.with_(members=("brock.png", "vesper.png", "brock.png")))) == ["brock", "vesper"]


class TestManualOrder:
    def test_nobody_answers_the_user(self) -> None:
        assert names(choose(MANUAL, user_input="x")) == []

    def test_without_input_the_first_after_a_shuffle_speaks(self) -> None:
        assert names(choose(MANUAL, 0)) == ["tamsin"]
        assert choose(MANUAL, 0.99).reasons == (SpeakerReason(cause="manual", pool=3),)


class TestPooledOrder:
    def test_one_who_has_not_spoken_since_the_user_did(self) -> None:
        said = chat(("Vesper", "a"), ("Orrin", "x"), ("Tamsin", "b"))
        assert names(choose(POOLED, 0, chat=said)) == ["vesper"]
        assert choose(POOLED, 0.99, chat=said).reasons == (SpeakerReason(cause="pooled", roll=0.99, pool=2),)

    def test_when_all_have_spoken_anybody_but_the_last(self) -> None:
        said = chat(("Orrin", "x"), ("Vesper", "a"), ("Tamsin", "b"), ("Brock", "c"))
        assert choose(POOLED, 0.99, chat=said).reasons == (SpeakerReason(cause="pooled_again", roll=0.99, pool=2),)
        assert names(choose(POOLED, 0.99, chat=said)) == ["tamsin"]

    def test_input_opens_a_new_round(self) -> None:
        said = chat(("Orrin", "x"), ("Vesper", "a"))
        assert names(choose(POOLED, 0, chat=said, user_input="again")) == ["vesper"]

    def test_hidden_messages_and_the_narrator_have_not_spoken(self) -> None:
        assert names(choose(POOLED, 0.5, chat=[*chat(("Orrin", "x")), HIDDEN, NARRATOR])) == ["tamsin"]

    def test_a_member_who_is_not_at_hand_may_be_drawn_and_then_nobody_speaks(self) -> None:
        assert names(choose(POOLED.with_(members=("ghost.png",)))) == []


class TestSwipeAndContinue:
    @pytest.fixture(params=["swipe", "continue"])
    def kind(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    def test_the_writer_of_the_last_message_writes_again(self, kind: str) -> None:
        activation = choose(LIST, chat=chat(("Orrin", "x"), ("Tamsin", "a")), generation_type=kind)
        assert (names(activation), causes(activation)) == (["tamsin"], ["last_speaker"])

    def test_a_message_without_an_avatar_is_known_by_its_name(self, kind: str) -> None:
        nameless = ChatTurn(index=0, name="Brock", text="a")
        assert names(choose(trio(), chat=[nameless], generation_type=kind)) == ["brock"]

    def test_of_two_with_that_name_the_first_at_hand_writes(self, kind: str) -> None:
        twins = tuple(member("Sam").with_(avatar=avatar) for avatar in ("b.png", "a.png"))
        group = StoryGroup(cast=twins, members=("a.png", "b.png"))
        assert names(choose(group, chat=[ChatTurn(index=0, name="Sam", text="a")], generation_type=kind)) == ["b"]

    def test_a_muted_or_departed_member_may_still_be_asked_again(self, kind: str) -> None:
        said = chat(("Tamsin", "a"))
        muted, departed = trio(disabled=frozenset({"tamsin.png"})), trio(members=("vesper.png",))
        assert names(choose(muted, chat=said, generation_type=kind)) == ["tamsin"]
        assert names(choose(departed, chat=said, generation_type=kind)) == ["tamsin"]

    def test_behind_the_user_the_previous_speaker_writes(self, kind: str) -> None:
        activation = choose(trio(), chat=chat(("Vesper", "a"), ("Orrin", "x")), generation_type=kind)
        assert (names(activation), causes(activation)) == (["vesper"], ["previous_speaker"])

    def test_where_nobody_has_spoken_somebody_is_drawn(self, kind: str) -> None:
        activation = choose(trio(), 0.2, 0.5, 0.9, chat=chat(("Orrin", "x")), generation_type=kind)
        assert (names(activation), causes(activation)) == (["brock"], ["random"])

    def test_a_hidden_last_message_adds_its_own_writer(self, kind: str) -> None:
        activation = choose(trio(), chat=[*chat(("Vesper", "a")), HIDDEN], generation_type=kind)
        assert names(activation) == ["vesper", "tamsin"]

    @pytest.mark.parametrize("said", [[], chat(("Gone", "a")), [ChatTurn(index=0, name="Gone", text="a")]])
    def test_nobody_at_hand_is_an_error_that_says_what_to_do(self, kind: str, said: list[ChatTurn]) -> None:
        with pytest.raises(DepartedMemberError, match="Add the writer back"):
            choose(trio(), chat=said, generation_type=kind)


class TestOtherRequests:
    def test_a_quiet_prompt_has_one_speaker_and_hidden_messages_count(self) -> None:
        assert names(choose(trio(), chat=[*chat(("Vesper", "a")), HIDDEN], generation_type="quiet")) == ["tamsin"]

    def test_a_quiet_prompt_falls_back_to_the_first_member(self) -> None:
        activation = choose(trio(), generation_type="quiet")
        assert (names(activation), causes(activation)) == (["vesper"], ["first_member"])

    def test_impersonation_takes_anybody_even_a_muted_member(self) -> None:
        group = trio(disabled=frozenset({"vesper.png"}))
        activation = choose(group, 0, generation_type="impersonate")
        assert (names(activation), causes(activation)) == (["vesper"], ["impersonate"])

    def test_who_was_asked_speaks_before_any_rule(self) -> None:
        activation = choose(MANUAL, user_input="hi", generation_type="swipe", forced="brock.png")
        assert (names(activation), causes(activation)) == (["brock"], ["forced"])

    def test_somebody_unknown_cannot_be_asked(self) -> None:
        with pytest.raises(UnknownMemberError, match="ghost"):
            choose(trio(), forced="ghost.png")

    @pytest.mark.parametrize("kind", [None, "swipe", "quiet", "impersonate"])
    def test_in_a_group_without_members_nobody_speaks(self, kind: str | None) -> None:
        assert names(choose(trio(members=()), generation_type=kind)) == []

    def test_under_a_strategy_that_nobody_knows_nobody_speaks(self) -> None:
        assert names(choose(trio(1, 1, 1, activation_strategy=None), user_input="Brock")) == []


def test_every_choice_explains_itself() -> None:
    activation = choose(trio(0, 1, 0), 0.25, user_input="Brock?")
    assert activation.explain(trio()) == (
        "Brock was mentioned as 'brock'.",
        "Tamsin rolled 0.25, which is not above a talkativeness of 1.",
    )


def test_every_cause_has_words() -> None:
    assert set(CAUSES) == set(get_args(SpeakerCause))
    assert not any("{" in str(SpeakerReason(cause=cause)) for cause in CAUSES)
