"""Short stories in one line: a chat as its lines, a preset as its prompts, a prompt as what each role says."""

from __future__ import annotations

from typing import Any

from tests.sillytavern.world_info.builders import entry as written_entry
from tests.sillytavern.world_info.builders import world

from tavernkit import sillytavern
from tavernkit.characters import Character, User
from tavernkit.lore.book import Book
from tavernkit.prompt.message import Message
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import CharacterRatio
from tavernkit.sillytavern import Story, UserSettings
from tavernkit.sillytavern.groups import CardMode, GroupMember, StoryGroup
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    PresetPrompt,
    PromptOrder,
    PromptToggle,
    SystemPrompt,
    TextPreset,
)

__all__ = [
    "ADA",
    "WREN",
    "book",
    "chat",
    "custom",
    "entry",
    "group",
    "order",
    "preset",
    "said",
    "tell",
    "text",
    "text_settings",
]

ADA = User(name="Ada", persona="Ada mends clocks.")
WREN = Character(name="Wren", description="Wren sells tea.", first_mes="Last stop!")
USUAL = (
    "main",
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "nsfw",
    "worldInfoAfter",
    "dialogueExamples",
    "chatHistory",
    "jailbreak",
)


def chat(*lines: str) -> list[Message]:
    """Messages written as `Ada: Hello`; Ada is the user, a `*` before the name hides a message, `>` narrates."""
    return [_message(line) for line in lines]


def _message(line: str) -> Message:
    if line.startswith(">"):
        return Message(
            role="system", content=line[1:].strip(), name="Narrator", metadata={"extra": {"type": "narrator"}}
        )
    name, _, content = line.lstrip("*").partition(": ")
    hidden = {"is_system": True} if line.startswith("*") else {}
    return Message(role="user" if name == ADA.name else "assistant", content=content, name=name, metadata=hidden)


def custom(identifier: str, content: str, **fields: Any) -> PresetPrompt:
    """A prompt that the user has added; with a depth, one that stands in the chat."""
    if "injection_depth" in fields:
        fields["injection_position"] = 1
    return PresetPrompt(identifier=identifier, content=content, **fields)


def order(*identifiers: str, off: tuple[str, ...] = (), character_id: int = 100001) -> PromptOrder:
    toggles = tuple(PromptToggle(identifier=name, enabled=name not in off) for name in identifiers)
    return PromptOrder(character_id=character_id, order=toggles)


def preset(
    *customs: PresetPrompt,
    main: str = "Main.",
    jailbreak: str = "",
    off: tuple[str, ...] = (),
    own: dict[str, dict[str, Any]] | None = None,
    **fields: Any,
) -> ChatPreset:
    """A preset in the usual order, with the user's own prompts behind the main one; `own` changes SillyTavern's."""
    texts = {"main": main, "nsfw": "", "jailbreak": jailbreak}
    prompts = [
        PresetPrompt(
            **{
                "identifier": name,
                "system_prompt": True,
                "marker": name not in texts,
                "content": texts.get(name, ""),
                **(own or {}).get(name, {}),
            }
        )
        for name in USUAL
    ]
    listed = ("main", *(prompt.identifier for prompt in customs), *USUAL[1:])
    usual: dict[str, Any] = {
        "prompts": (*prompts, *customs),
        "prompt_order": (order(*listed, off=off),),
        "new_chat_prompt": "[New]",
        "new_group_chat_prompt": "[New group: {{group}}]",
        "new_example_chat_prompt": "[Example]",
        "group_nudge_prompt": "[As {{char}}.]",
        "continue_nudge_prompt": "[Go on.]",
        "impersonation_prompt": "[As {{user}}.]",
        "openai_max_context": 10_000,
        "openai_max_tokens": 100,
    }
    return ChatPreset(**{**usual, **fields})


def entry(content: str, *keys: str, **fields: Any) -> dict[str, Any]:
    """A lore entry in the spelling of world files; without a key it is always awake."""
    return written_entry(*keys, content=content, **{"constant": not keys, **fields})


def book(*entries: dict[str, Any]) -> Book:
    return world(*entries, name="Town")


def group(*characters: Character, mode: CardMode = CardMode.SWAP, disabled: frozenset[str] = frozenset()) -> StoryGroup:
    cast = StoryGroup.of(*(GroupMember.of(character, f"{character.name}.png") for character in characters))
    return cast.with_(generation_mode=mode, disabled=disabled)


def tell(*lines: str, story: Story | None = None, **inputs: Any) -> Plan:
    """Build a prompt from a chat; a token is four characters, so that a test can count."""
    usual: dict[str, Any] = {
        "character": WREN,
        "user": ADA,
        "preset": preset(),
        "history": chat(*lines),
        "estimator": CharacterRatio(4),
    }
    return sillytavern.build(story=story, **{**usual, **inputs}).plan


def said(plan: Plan) -> list[str]:
    """What is sent, as `role: content`, or `role (name): content` where a name goes along."""
    return [
        f"{message.role}: {message.content}"
        if message.name is None
        else f"{message.role} ({message.name}): {message.content}"
        for message in plan.messages
    ]


def text_settings(*, with_instruct: bool = False, **fields: Any) -> UserSettings:
    """Templates in which everything is easy to see: a line each, and `<U>`, `<A>`, `<S>` as sequences."""
    instruct = Instruct(
        enabled=with_instruct,
        input_sequence="<U>",
        output_sequence="<A>",
        system_sequence="<S>",
        names_behavior="none",
        sequences_as_stop_strings=True,
    )
    story_string = "".join(
        f"{{{{#if {field}}}}}{{{{{field}}}}}\n{{{{/if}}}}"
        for field in ("system", "wiBefore", "anchorBefore", "description", "persona", "wiAfter", "anchorAfter")
    )
    usual: dict[str, Any] = {
        "instruct": instruct,
        "context": ContextTemplate(story_string=story_string, chat_start="***", example_separator="---"),
        "sysprompt": SystemPrompt(enabled=True, content="Main."),
    }
    return UserSettings(**{**usual, **fields})


def text(*lines: str, settings: UserSettings | None = None, story: Story | None = None, **inputs: Any) -> str:
    """The text prompt for a chat."""
    story = (story or Story()).with_(settings=settings or text_settings())
    prompt = tell(*lines, story=story, **{"preset": TextPreset(max_length=10_000, genamt=100), **inputs}).to_messages(
        "text"
    )
    assert isinstance(prompt, str)
    return prompt
