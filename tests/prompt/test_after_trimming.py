"""Who must see what trimming has left gets to act when it is done."""

from tavernkit import BudgetPreset, BuildHooks, Character, Context, Message, User, build

MIRA, ROBIN = Character(name="Mira", system_prompt="S"), User(name="Robin")


def test_it_acts_once_the_blocks_stand_and_the_plan_has_what_it_left() -> None:
    hooks = BuildHooks()
    left: list[list[str]] = []

    def look(ctx: Context) -> None:
        left.append([block.content for block in ctx.blocks if block.enabled])
        ctx.blocks = [block.disable() if block.content == "Last." else block for block in ctx.blocks]

    hooks.before_trimming(lambda ctx: ctx.after_trimming.append(look))
    history = [Message(role="user", content="word " * 500), Message(role="user", content="Last.")]
    tight = BudgetPreset(context_window_tokens=100, reserved_response_tokens=0)
    plan = build(character=MIRA, user=ROBIN, history=history, preset=tight, hooks=hooks).plan
    assert left == [["S", "Last."]]
    assert [message.content for message in plan.messages] == ["S"]


def test_a_twin_of_a_context_waits_for_itself() -> None:
    ctx = Context()
    twin = ctx.dup()
    twin.after_trimming.append(lambda _: None)
    assert ctx.after_trimming == []
