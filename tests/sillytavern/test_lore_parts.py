"""Every character of a lore block belongs to one entry, in chat and in text completion."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.prompt.lore_parts import check_parts, check_texts, marked
from tests.sillytavern.stories.builders import ADA, WREN, book, chat, custom, entry, preset, text_settings

from tavernkit import sillytavern
from tavernkit.prompt.built import Built
from tavernkit.prompt.tokens import CharacterRatio
from tavernkit.sillytavern import AuthorsNote, ExtensionPrompt, PersonaPlace, PersonaPosition, Story, UserSettings
from tavernkit.sillytavern.presets import ContextTemplate, TextPreset
from tavernkit.sillytavern.replying import SillyTavernResult

IN_EXAMPLES = (5, 6)
WORDS = ("{{user}}", "{{char}}", "{{random::x::y}}", "<b>", "\n", "\r\n", "tea", "é", "{0}", "{{trim}}", "$&", "\\{")
words = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
roles = st.sampled_from(("system", "user", "assistant"))
places = st.sampled_from(("none", "after", "chat", "before"))


@st.composite
def entries(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        entry(
            f"Ada: {content}" if (position := draw(st.integers(0, 7))) in IN_EXAMPLES else content,
            *draw(st.sampled_from(((), ("tea",), (f"lore-{number - 1}-",)))),
            position=position,
            order=draw(st.integers(1, 3)),
            depth=draw(st.integers(0, 3)),
            role=draw(st.integers(0, 2)),
            outletName="talk",
        )
        for number, content in enumerate(marked(number, draw(words)) for number in range(draw(st.integers(1, 6))))
    ]


stories = st.builds(
    lambda note, persona, extension: Story(note=note, persona=persona, extension_prompts=extension),
    st.builds(
        AuthorsNote, text=words, position=places, depth=st.integers(0, 2), role=roles, interval=st.integers(0, 2)
    ),
    st.builds(PersonaPlace, position=st.sampled_from(PersonaPosition), depth=st.integers(0, 2), role=roles),
    st.lists(
        st.builds(
            ExtensionPrompt,
            key=st.sampled_from(("1_memory", "x")),
            content=st.sampled_from(("Hm.", "So: {{outlet::talk}}!")),
            position=places,
            role=roles,
        ),
        max_size=2,
    ).map(tuple),
)
STORY_STRINGS = (
    text_settings().context.story_string,
    "{{trim}}\n{{wiBefore}}{{wiAfter}}{{anchorBefore}}\n\n\n{{anchorAfter}}{{mesExamples}}\n{{trim}}\n",
    "{{#with this}}{{loreBefore}} {{wiBefore}}/{{wiAfter}}{{/with}}{{anchorBefore}}{{anchorAfter}}",
    "{{#each this}}{{@key}}: {{this}}\n{{/each}}",
)
templates = st.builds(
    lambda story_string, place, collapse, instructed: text_settings(
        context=ContextTemplate(story_string=story_string, story_string_position=place, chat_start="***"),
        collapse_newlines=collapse,
        with_instruct=instructed,
    ),
    st.sampled_from(STORY_STRINGS),
    st.sampled_from((0, 1)),
    st.booleans(),
    st.booleans(),
)


def built(story: Story, written: list[dict[str, Any]], **inputs: Any) -> Built[SillyTavernResult]:
    usual: dict[str, Any] = {
        "character": WREN.with_(mes_example="<START>\nAda: Hm?\nWren: Ha!"),
        "user": ADA,
        "history": chat("Ada: Some tea?", "Wren: Tea, tea.", "Ada: {{outlet::talk}}"),
        "estimator": CharacterRatio(4),
    }
    return sillytavern.build(story=story, books=[book(*written)], **{**usual, **inputs})


def check(result: Built[SillyTavernResult], written: list[dict[str, Any]]) -> None:
    ids = {str(number): str(number) for number in range(len(written))}
    check_parts(result.plan.blocks, ids)
    in_examples = {str(number) for number, one in enumerate(written) if one["position"] in IN_EXAMPLES}
    blocks = [
        block
        for block in result.plan.blocks
        if not any(part.source in in_examples for part in block.lore_parts) and block.slot != "history"
    ]
    check_texts(blocks, result.result.lore)


@settings(max_examples=40)
@given(stories, entries(), st.sampled_from(("", "{0}", "[Lore: {0}]", "{0} and {0}")), st.booleans(), st.booleans())
def test_every_character_of_lore_in_a_chat_belongs_to_one_entry(
    story: Story, written: list[dict[str, Any]], wi_format: str, squash: bool, in_chat: bool
) -> None:
    own = {"worldInfoAfter": {"injection_position": 1, "injection_depth": 1}} if in_chat else {}
    used = preset(
        custom("outlet", "Also: {{outlet::talk}} {{user}}."),
        wi_format=wi_format,
        squash_system_messages=squash,
        own=own,
    )
    result = built(story, written, preset=used)
    check(result, written)
    if wi_format in ("", "{0}") and not squash:
        for block in result.plan.blocks:
            if block.slot in ("worldInfoBefore", "worldInfoAfter") or block.source["id"].startswith("customDepthWI"):
                assert block.parts == block.lore_parts


@settings(max_examples=40)
@given(stories, entries(), templates)
def test_every_character_of_lore_in_a_text_prompt_belongs_to_one_entry(
    story: Story, written: list[dict[str, Any]], used: UserSettings
) -> None:
    result = built(story.with_(settings=used), written, preset=TextPreset(max_length=10_000, genamt=100))
    check(result, written)


def test_parts_say_by_which_key_each_entry_is_activated() -> None:
    written = [
        entry("Tea is dear.", "tea", comment="Tea"),
        entry("Ships bring it.", "dear", comment="Ships"),
        entry("It rains.", comment="Rain", position=4, depth=0),
        entry("Ada: Hm.", comment="Talk", position=5, sticky=2),
    ]
    result = built(Story(), written, preset=preset(wi_format="[{0}]"))
    told = [
        [(part.source, part.name, part.cause, part.key, block.content[part.start : part.end]) for part in block.parts]
        for block in result.plan.blocks
        if block.parts
    ]
    assert told == [
        [
            ("worldInfoBefore", "", None, None, "["),
            ("1", "Ships", "recursion", "dear", "Ships bring it.\n"),
            ("0", "Tea", "key", "tea", "Tea is dear."),
            ("worldInfoBefore", "", None, None, "]"),
        ],
        [("3", "Talk", "constant", None, "Hm.")],
        [("2", "Rain", "constant", None, "It rains.")],
    ]
    assert {part.book for block in result.plan.blocks for part in block.lore_parts} == {"Town"}
    assert result.result.timed is not None
    assert list(result.result.timed.sticky) == ["Town.3"]
    assert Built.decode(result.encode(), SillyTavernResult).plan == result.plan


def test_a_template_that_looks_at_its_values_has_parts_where_a_text_is_clear() -> None:
    used = text_settings(
        context=ContextTemplate(
            story_string="{{#each wiBefore}}{{this}}{{/each}}{{lookup this 'wiBefore'}}{{wiBefore.length}}"
        )
    )
    text_preset = TextPreset(max_length=10_000, genamt=100)
    result = built(Story(settings=used), [entry("Tea is dear.")], preset=text_preset)
    (block,) = [block for block in result.plan.blocks if block.slot == "story_string"]
    assert [block.content[part.start : part.end] for part in block.lore_parts] == ["Tea is dear."]
