"""Memory: what is told of messages that no longer fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.risuai.prompt.builders import CHAT, Words, built, chat, marlow, plain, texts, told

from tavernkit import MissingInputError, TokenBudgetExceeded
from tavernkit.risuai import Memory, MemoryMessage, MemoryRequest, PromptCard, Recollection, RollingSummary, Story
from tavernkit.risuai.errors import MemoryStateError

OVERFLOW = {"model": "custom", "max_context": 420, "max_response": 200}
LONG = [f"{'ua'[n % 2]}: " + " ".join(f"t{n}_{word}" for word in range(20)) for n in range(8)]
REMEMBERED = PromptCard(type="memory", inner_format="<mem>{{slot}}</mem>")


def request(*costs: int, budget: int, state: str = "") -> MemoryRequest:
    messages = [MemoryMessage(speaker="S", text=f"m{n}", tokens=cost, id=f"id-{n}") for n, cost in enumerate(costs)]
    return MemoryRequest(
        messages=messages, tokens=sum(costs), budget=budget, state=state, count=lambda text: len(text.split())
    )


class TestRollingSummary:
    def test_a_chat_that_fits_is_left_alone(self) -> None:
        assert RollingSummary().recall(request(5, 5, budget=50, state="id-1\nold")) is None

    def test_a_summary_is_taken_up_where_it_ended(self) -> None:
        found = RollingSummary().recall(request(50, 50, 5, budget=40, state="id-2\nThey met, and parted."))
        assert found == Recollection(text="They met and parted\n\n", covered=2, state="id-2\nThey met, and parted.")

    def test_its_punctuation_may_be_kept(self) -> None:
        memory = RollingSummary(keeps_punctuation=True)
        found = memory.recall(request(50, 50, 5, budget=40, state="id-2\nThey met, and parted."))
        assert found is not None
        assert found.text == "They met, and parted.\n\n"

    def test_more_is_summed_up_until_the_rest_fits(self) -> None:
        asked: list[str] = []

        def summarise(text: str) -> str:
            asked.append(text)
            return "short"

        found = RollingSummary(summarise).recall(request(30, 30, 30, 5, budget=60))
        assert found == Recollection(text="short\n\nshort", covered=2, state="id-2\nshort\n\nshort")
        assert asked == ["S: m0", "S: m1"]

    def test_without_a_model_nothing_can_be_summed_up(self) -> None:
        with pytest.raises(MissingInputError, match="RollingSummary"):
            RollingSummary().recall(request(30, 30, budget=20))

    def test_a_summary_of_another_chat_is_refused(self) -> None:
        with pytest.raises(MemoryStateError, match="id-9"):
            RollingSummary().recall(request(30, 30, budget=20, state="id-9\nold"))
        with pytest.raises(MemoryStateError, match="HypaMemory"):
            RollingSummary().recall(request(30, 30, budget=20, state="hypa:\n[]"))

    @given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(1, 200))
    def test_it_ends_and_keeps_the_last_message(self, costs: list[int], budget: int) -> None:
        wanted = request(*costs, budget=budget)
        try:
            found = RollingSummary(lambda _: "s").recall(wanted)
        except TokenBudgetExceeded:
            return
        if found is None:
            assert sum(costs) <= budget
        else:
            assert found.covered < len(costs)
            assert found.state.startswith(f"id-{found.covered}\n")


class TestInAPrompt:
    def test_the_summary_stands_where_its_card_is(self) -> None:
        story = Story(memory=RollingSummary(lambda _: "They met."))
        plan = told(
            plain("S"), REMEMBERED, CHAT, story=story, history=chat(*LONG), settings=OVERFLOW, estimator=Words()
        )
        assert texts(plan)[:2] == ["S", "<mem>They met.</mem>"]
        assert texts(plan)[-1].startswith("t7_0")
        covered = [block for block in plan.blocks if block.metadata.get("left_out") == "summed_up"]
        assert covered
        assert not any(block.enabled for block in covered)
        assert plan.trim_report is not None
        assert plan.trim_report.evictions == ()

    def test_without_a_card_it_stands_before_the_chat(self) -> None:
        story = Story(memory=RollingSummary(lambda _: "They met."))
        plan = told(CHAT, story=story, history=chat(*LONG), settings=OVERFLOW, estimator=Words())
        assert texts(plan)[0] == "<Previous Conversation>They met.</Previous Conversation>"

    def test_the_state_goes_with_the_chat_and_is_used_again(self) -> None:
        asked: list[str] = []
        memory = RollingSummary(lambda text: asked.append(text) or "They met.")
        inputs = {"history": chat(*LONG), "settings": OVERFLOW, "estimator": Words()}
        state = built(CHAT, story=Story(memory=memory), **inputs).result.chat.memory
        assert state.endswith("\nThey met.")
        count = len(asked)
        again = told(CHAT, story=Story(memory=memory, memory_state=state), **inputs)
        assert len(asked) == count
        assert "They met" in texts(again)[0]

    def test_risuais_switches_use_a_summary_that_is_there(self) -> None:
        settings = {**OVERFLOW, "memory_model": "subModel"}
        story = Story(memory_state="message-4\nThey met.")
        plan = told(
            CHAT, character=marlow(uses_memory=True), story=story, history=chat(*LONG), settings=settings,
            estimator=Words(),
        )  # fmt: skip
        assert texts(plan)[0] == "<Previous Conversation>They met\n\n</Previous Conversation>"
        assert texts(plan)[1].startswith("t4_0")
        kept = told(
            CHAT, character=marlow(uses_memory=True), story=story, history=chat(*LONG),
            settings={**settings, "memory_without_punctuation": False}, estimator=Words(),
        )  # fmt: skip
        assert texts(kept)[0] == "<Previous Conversation>They met.\n\n</Previous Conversation>"

    def test_any_memory_will_do(self) -> None:
        class Forgetful:
            def recall(self, request: MemoryRequest) -> Recollection | None:
                return Recollection(text="?", covered=len(request.messages) - 1, state="x")

        memory: Memory = Forgetful()
        plan = told(REMEMBERED, CHAT, story=Story(memory=memory), history=chat(*LONG))
        assert texts(plan)[0] == "<mem>?</mem>"
        assert len(texts(plan)) == 2

    def test_a_memory_that_does_not_fit_the_chat_ends_the_build(self) -> None:
        story = Story(memory=RollingSummary(), memory_state="gone\nold")
        with pytest.raises(MemoryStateError):
            told(CHAT, story=story, history=chat(*LONG), settings=OVERFLOW, estimator=Words())
