import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit import Attachment, Block, Message

names = st.text(min_size=1, max_size=12)
blocks = st.builds(
    Block,
    id=names,
    role=names,
    content=st.text(),
    name=st.none() | names,
    slot=st.none() | names,
    enabled=st.booleans(),
    removable=st.booleans(),
    insertion_point=names,
    depth=st.integers(0, 99),
    order=st.integers(0, 999),
    priority=st.integers(-1000, 1000),
    token_budget_group=names,
    bundle=st.none() | names,
)


@given(blocks, blocks)
def test_with_round_trips(block: Block, other: Block) -> None:
    fields = {name: getattr(other, name) for name in Block.__struct_fields__}
    original = {name: getattr(block, name) for name in Block.__struct_fields__}
    assert block.with_(**fields) == other
    assert block.with_(**fields).with_(**original) == block


@given(blocks)
def test_convenience_updates_change_one_field(block: Block) -> None:
    assert block.disable() == block.with_(enabled=False)
    assert block.enable() == block.with_(enabled=True)
    assert block.with_priority(7) == block.with_(priority=7)


def test_a_block_cannot_be_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        Block(content="x").content = "y"


def test_roles_points_and_groups_are_open_but_must_be_text() -> None:
    block = Block(role="function", insertion_point="pt_custom", token_budget_group="my_group")
    assert (block.role, block.insertion_point, block.token_budget_group) == ("function", "pt_custom", "my_group")
    with pytest.raises(TypeError, match="must be text"):
        Block(role=3)
    with pytest.raises(TypeError, match="must be text"):
        block.with_(content=None)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError):
        Block(colour="red")


def test_blocks_do_not_share_their_metadata() -> None:
    first, second = Block(), Block()
    assert first.metadata is not second.metadata


def test_a_block_becomes_a_message_with_all_it_carries() -> None:
    picture = Attachment(data=b"x")
    calls = {"tool_calls": [{"id": "1"}]}
    block = Block(role="assistant", content="Look.", name="Mira", attachments=(picture,), message_metadata=calls)
    assert block.to_message() == Message(
        role="assistant", content="Look.", name="Mira", attachments=(picture,), metadata=calls
    )
