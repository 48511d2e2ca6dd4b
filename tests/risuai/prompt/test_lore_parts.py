"""Every character of lore in RisuAI's prompts belongs to one entry."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.prompt.lore_parts import check_parts, check_texts, marked
from tests.risuai.prompt.builders import CHAT, always, built, chat, marlow, plain

from tavernkit.risuai import PromptCard
from tavernkit.risuai.lore_entry import LoreEntry

PLACES = (
    "",
    "@@depth 1\n",
    "@@reverse_depth 1\n",
    "@@end\n",
    "@@end\n@@role assistant\n",
    "@@position before_desc\n",
    "@@position after_desc\n",
    "@@position personality\n",
    "@@position pt_intro\n",
    "@@inject_at main\n",
    "@@inject_at description\n@@inject_prepend\n",
    "@@inject_at globalNote\n@@inject_replace NOTE\n",
    "@@inject_lore zero\n",
    "@@inject_lore zero\n@@inject_prepend\n",
    "@@inject_lore zero\n@@inject_replace - \n",
)
WORDS = ("{{user}}", "{{char}}", "{{roll::6}}", "<b>", "\n", "light", "é", "{{br}}", "$&", "{{#if 0}}no{{/if}}", "\\n")
TEMPLATES: tuple[tuple[PromptCard, ...], ...] = (
    (),
    (
        plain("Main {{position::intro}} {{user}}.", kind="main"),
        PromptCard(type="description", inner_format="About: {{slot}} {{position::intro}}"),
        PromptCard(type="lorebook"),
        CHAT,
        plain("NOTE {{position::intro}}", kind="globalNote"),
        PromptCard(type="lorebook"),
    ),
    (PromptCard(type="lorebook"), PromptCard(type="description"), CHAT, plain("{{position::intro}}", kind="main")),
)
CHANGING = ("@@inject_lore", "{{roll", "$&")
"""What makes the text in the prompt another one than that of the entry alone."""

words = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)


@st.composite
def lore(draw: st.DrawFn) -> tuple[LoreEntry, ...]:
    entries = [always(marked(0, draw(words)), id="id-0", comment="zero")]
    for number in range(1, draw(st.integers(1, 6))):
        content = draw(st.sampled_from(PLACES)) + marked(number, draw(words))
        keys = draw(st.sampled_from(("", "light", f"lore-{number - 1}-")))
        entries.append(LoreEntry(content=content, key=keys, always_active=not keys, id=f"id-{number}"))
    return tuple(entries)


@settings(max_examples=40)
@given(
    lore(), st.sampled_from(TEMPLATES), st.sampled_from(("gpt4o", "novelai")), st.sampled_from(("", "N {{original}}"))
)
def test_every_character_of_lore_belongs_to_one_entry(
    entries: tuple[LoreEntry, ...], cards: tuple[PromptCard, ...], model: str, note: str
) -> None:
    character = marlow(lore=entries, replace_global_note=note, personality="Kind.")
    result = built(
        *cards, character=character, settings={"model": model}, history=chat("u: A light?", "a: Light.", "u: Oh.")
    )
    check_parts(result.plan.blocks, {str(number): f"id-{number}" for number in range(len(entries))})
    for block in result.plan.blocks:
        if block.slot == "lore" and not block.metadata.get("parts") and not any(card.inner_format for card in cards):
            assert block.parts == block.lore_parts
    if not any(word in entry.content for entry in entries for word in CHANGING):
        check_texts(result.plan.blocks, result.result.lore)


def test_a_part_names_entry_book_and_key() -> None:
    entries = (
        LoreEntry(content="The light is old. {{user}} knows.", key="light", id="a", comment="Light"),
        LoreEntry(content="Keys rust.", key="old", id="b", comment="Keys"),
        always("@@position after_desc\nAlways so.", comment="Always"),
    )
    result = built(character=marlow(lore=entries), history=chat("u: A light?"))
    parts = [
        (part.source, part.book, part.name, part.cause, part.key, block.content[part.start : part.end])
        for block in result.plan.blocks
        for part in block.lore_parts
    ]
    assert parts == [
        ("2", "Marlow", "Always", "constant", None, "Always so."),
        ("b", "Marlow", "Keys", "recursion", "old", "Keys rust.\n\n"),
        ("a", "Marlow", "Light", "key", "light", "The light is old. Tess knows."),
    ]
    check_texts(result.plan.blocks, result.result.lore)
