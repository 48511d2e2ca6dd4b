"""The parts of blocks, and of the lore in a plain build."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.prompt.lore_parts import check_parts, check_texts, marked

from tavernkit import Block, Book, Character, Entry, User, build
from tavernkit.prompt.parts import Part, carried, from_source, joined, parts_of, rewritten

NIGHT = Part(start=0, end=6, kind="lore", source="1", book="Town", name="Night", cause="key", key="dark")
RAIN = Part(start=0, end=5, kind="lore", source="2", book="Town", name="Rain", cause="constant")
words = st.lists(st.sampled_from(("{{user}}", "{{char}}", "\n", "tea", "<b>", "{{nope}}")), max_size=4).map(" ".join)


def stretches(text: str) -> list[tuple[str, str]]:
    return [(part.source, str(text)[part.start : part.end]) for part in parts_of(text, "") if part.kind == "lore"]


@settings(max_examples=40)
@given(st.lists(st.tuples(words, st.sampled_from(((), ("tea",), ("lore-0-",))), st.booleans()), min_size=1, max_size=5))
def test_every_character_of_lore_in_a_plain_build_belongs_to_one_entry(
    written: list[tuple[str, tuple[str, ...], bool]],
) -> None:
    entries = tuple(
        Entry(
            id=str(number),
            keys=keys,
            constant=not keys,
            content=marked(number, text),
            position="before_char" if before else "after_char",
        )
        for number, (text, keys, before) in enumerate(written)
    )
    built = build(
        character=Character(name="Wren", description="Wren sells tea."),
        user=User(name="Ada"),
        books=[Book(name="Town", entries=entries, recursive_scanning=True)],
        message="Some tea?",
    )
    found = check_parts(built.plan.blocks, {str(number): str(number) for number in range(len(entries))})
    assert found == {verdict.entry for verdict in built.result.lore}
    assert all(block.parts == block.lore_parts for block in built.plan.blocks if block.token_budget_group == "lore")
    if not any("{{" in entry.content for entry in entries):
        check_texts(built.plan.blocks, built.result.lore)


def test_a_separator_between_entries_belongs_to_the_first() -> None:
    text = joined("\n", (from_source("Dark.", NIGHT), from_source("Rain.", RAIN), "Note."))
    assert stretches(text) == [("1", "Dark.\n"), ("2", "Rain.")]
    assert stretches("> " + text[2:].removesuffix(".")) == [("1", "rk.\n"), ("2", "Rain.")]


def test_parts_stay_with_their_texts_when_macros_are_expanded() -> None:
    text = joined(
        "\n", (from_source("{{user}} sleeps.", NIGHT), from_source("{{char}}, {{user}}", RAIN), "{{user}} wakes.")
    )
    expanded = carried(text, "Ada sleeps.\nWren, Ada\nAda wakes.")
    assert stretches(expanded) == [("1", "Ada sleeps.\n"), ("2", "Wren, Ada")]


def test_a_text_that_is_rewritten_keeps_its_parts() -> None:
    text = joined("\n", (from_source("Da\r\nrk.\r", NIGHT), from_source("\rRain.", RAIN)))
    assert stretches(rewritten(text, lambda text: text.replace("\r", ""))) == [("1", "Da\nrk.\n"), ("2", "Rain.")]


def test_a_block_whose_content_changes_keeps_the_parts_that_are_still_there() -> None:
    block = Block(content="Dark.\nRain.", parts=(NIGHT, RAIN.with_(start=6, end=11)), metadata={"source": {"id": "x"}})
    longer = block.with_(content="Listen: Dark.\nRain. Thanks.")
    assert [(part.kind, part.source, longer.content[part.start : part.end]) for part in longer.parts] == [
        ("text", "x", "Listen: "),
        ("lore", "1", "Dark.\n"),
        ("lore", "2", "Rain."),
        ("text", "x", " Thanks."),
    ]
    assert [part.source for part in block.with_(content="Only Rain.").lore_parts] == ["2"]
    assert block.with_(content="Nothing.").parts == ()
