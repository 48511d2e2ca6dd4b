"""A warning about a macro says where the macro stands, and is given once."""

from collections.abc import Sequence

import pytest

from tavernkit import Book, Character, Entry, Injection, Injections, User
from tavernkit.prompt.warning import BuildWarning
from tavernkit.sillytavern import AuthorsNote, Story, UserSettings, build
from tavernkit.sillytavern.errors import MacroSyntaxError, UnknownMacroError
from tavernkit.sillytavern.groups import GroupMember, StoryGroup
from tavernkit.sillytavern.presets import ChatPreset, ContextTemplate, PresetPrompt, SystemPrompt, TextPreset

ROBIN = User(name="Robin")
BAD = "One {{nope}} and {{nope}}."
TIDES = Book(
    name="Tides",
    entries=(
        Entry(id="3", keys=("sea",), content="Salt {{nope}}."),
        Entry(id="4", keys=("owl",), content="Asleep {{nope}}."),
        Entry(id="5", keys=("sea",), content="At depth {{nope}}.", extensions={"position": 4, "depth": 0}),
    ),
)


def places(warnings: Sequence[BuildWarning]) -> list[object]:
    assert len({warning.message for warning in warnings}) == len(warnings)
    assert all(str(warning.where["place"]) in warning.message for warning in warnings)
    return sorted(str(warning.where["place"]) for warning in warnings)


@pytest.mark.parametrize("preset", [ChatPreset(), TextPreset()])
class TestBothCompletions:
    def test_one_macro_in_many_texts_is_told_once_for_each(self, preset: ChatPreset | TextPreset) -> None:
        mira = Character(
            name="Mira", description=BAD, personality=BAD, scenario=BAD, mes_example=f"<START>\n{{{{char}}}}: {BAD}"
        )
        built = build(
            character=mira,
            user=User(name="Robin", persona=BAD),
            message="The sea {{nope}}",
            preset=preset,
            books=[TIDES],
            injections=Injections(Injection(id="weather", content=BAD, depth=0)),
            story=Story(note=AuthorsNote(text=BAD)),
        )
        assert places(built.plan.warnings) == [
            "author's note",
            *(f"character.{field}" for field in ("description", "mes_example", "personality", "scenario")),
            "injection weather",
            "lore entry 3 of Tides",
            "lore entry 5 of Tides",
            "user.persona",
        ]

    def test_calls_that_cannot_be_read_are_told_apart(self, preset: ChatPreset | TextPreset) -> None:
        mira = Character(name="Mira", description="{{one and {{two", first_mes="{{three")
        warnings = build(character=mira, user=ROBIN, preset=preset).plan.warnings
        told = [warning.message for warning in warnings]
        assert [message.rpartition(": ")[2] for message in told] == ["{{one and ", "{{two", "{{three"]
        assert places(warnings) == ["character.description", "character.description", "character.first_mes"]

    def test_what_people_said_is_nobodys_mistake(self, preset: ChatPreset | TextPreset) -> None:
        history = [{"role": "assistant", "content": "{{nope}}"}]
        plan = build(character=Character(name="Mira"), user=ROBIN, history=history, message=BAD, preset=preset).plan
        assert plan.warnings == ()

    def test_a_member_of_a_group_is_named(self, preset: ChatPreset | TextPreset) -> None:
        mira, tam = Character(name="Mira", description="Calm."), Character(name="Tam", description=BAD)
        group = StoryGroup.of(GroupMember.of(mira, "mira.png"), GroupMember.of(tam, "tam.png"))
        story = Story(group=group, speaker="tam.png")
        warnings = build(character=tam, user=ROBIN, story=story, message="Hi", preset=preset).plan.warnings
        assert places(warnings) == ["character Tam.description"]

    def test_a_strict_build_names_the_place_in_its_error(self, preset: ChatPreset | TextPreset) -> None:
        for text, error in (("A {{nope}}", UnknownMacroError), ("A {{nope", MacroSyntaxError)):
            with pytest.raises(error, match=r"character\.scenario") as raised:
                build(character=Character(name="Mira", scenario=text), user=ROBIN, preset=preset, strict=True)
            assert raised.value.position == 2


def test_prompts_and_format_strings_of_a_preset() -> None:
    preset = ChatPreset(
        prompts=(
            PresetPrompt(identifier="main", content=BAD),
            PresetPrompt(identifier="nsfw", content="{{never}}"),
            PresetPrompt(identifier="spare", content=BAD),
        ),
        scenario_format="{{nope}} {{scenario}}",
        new_chat_prompt="{{other}}",
    )
    mira = Character(name="Mira", scenario="At sea.")
    warnings = build(character=mira, user=ROBIN, message="Hi", preset=preset).plan.warnings
    assert places(warnings) == ["preset.new_chat_prompt", "preset.scenario_format", "prompt main", "prompt nsfw"]


def test_templates_of_a_text_completion() -> None:
    settings = UserSettings(
        context=ContextTemplate(story_string="{{description}} {{nope}}", chat_start="{{nope}}"),
        sysprompt=SystemPrompt(enabled=True, content=BAD),
    )
    mira = Character(name="Mira", description=BAD)
    plan = build(character=mira, user=ROBIN, message="Hi", preset=TextPreset(), story=Story(settings=settings)).plan
    expected = ["character.description", "context.chat_start", "context.story_string", "sysprompt.content"]
    assert places(plan.warnings) == expected
