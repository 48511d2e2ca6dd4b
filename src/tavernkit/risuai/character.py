"""A character as RisuAI keeps it, beyond what a card's common fields hold."""

from __future__ import annotations

from typing import Any, Self

from tavernkit.reading import LooseObject
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.risuai.stored import AssetName, StoredFields, StoredNoun
from tavernkit.risuai.trigger import Trigger
from tavernkit.values import Json


class LoreSettings(StoredFields, frozen=True, kw_only=True):
    """What a character's lorebook sets instead of the application's settings; None leaves these as they are."""

    token_budget: int | None = None
    scan_depth: int | None = None
    recursive_scanning: bool = True
    full_word_matching: bool = False


class RisuDepthPrompt(StoredFields, frozen=True, kw_only=True):
    """A text that stands so many messages before the end of the prompt."""

    depth: int = 0
    prompt: str = ""


class PicturePrompts(StoredFields, frozen=True, kw_only=True):
    """How the model is asked for pictures in its replies: new ones, or emotions, whose names stand at `{{slot}}`."""

    instructions: str = ""
    emotion_instructions: str = ""


class RisuCharacter(StoredNoun, frozen=True, kw_only=True):
    """A character. `written` is the object that it was read from, with everything that is not named here."""

    SPELT = {
        "id": "chaId",
        "is_group": None,
        "description": "desc",
        "depth_prompt": "depth_prompt",
        "lore": "globalLore",
        "scripts": "customscript",
        "triggers": "triggerscript",
        "emotions": "emotionImages",
        "assets": "additionalAssets",
        "lists_assets": "prebuiltAssetCommand",
        "unlisted_assets": "prebuiltAssetExclude",
        "shows_pictures_in_chat": "inlayViewScreen",
        "picture_prompts": "newGenData",
        "is_utility": "utilityBot",
        "uses_memory": "supaMemory",
    }
    ALWAYS = ("name", "description", "first_message", "lore", "scripts", "triggers")

    name: str
    id: str = ""
    nickname: str = ""
    is_group: bool = False
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_message: str = ""
    alternate_greetings: tuple[str, ...] = ()
    example_message: str = ""
    system_prompt: str = ""
    replace_global_note: str = ""
    additional_text: str = ""
    depth_prompt: RisuDepthPrompt | None = None
    lore: tuple[LoreEntry, ...] = ()
    lore_settings: LoreSettings | None = None
    scripts: tuple[RisuRegexScript, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    default_variables: str = ""
    emotions: tuple[AssetName, ...] = ()
    assets: tuple[AssetName, ...] = ()
    lists_assets: bool = False
    """Whether the prompt tells the model of the character's assets (RisuAI: `prebuiltAssetCommand`)."""
    unlisted_assets: tuple[str, ...] = ()
    view_screen: str = "none"
    """What is shown beside the chat: `none`, pictures of an `emotion`, or new ones, `imggen`."""
    shows_pictures_in_chat: bool = False
    """Whether they are shown in the replies instead, which the model has to be told of (RisuAI: `inlayViewScreen`)."""
    picture_prompts: PicturePrompts = PicturePrompts()
    is_utility: bool = False
    """A character without a story around it: no main prompt, description and so on (RisuAI: `utilityBot`)."""
    low_level_access: bool = False
    uses_memory: bool = False

    @property
    def display_name(self) -> str:
        """What `{{char}}` stands for: the nickname where there is one."""
        return self.nickname or self.name

    @property
    def shows_emotions(self) -> bool:
        """Whether replies name the emotion whose picture is shown in them."""
        return self.shows_pictures_in_chat and self.view_screen == "emotion"

    @classmethod
    def read(cls, source: LooseObject, **given: Any) -> Self:
        return super().read(source, is_group=source.raw("type") == "group", **given)

    def write(self, **spelt: str) -> dict[str, Json]:
        fields = super().write(**spelt)
        if self.is_group != (self.written.get("type") == "group"):
            fields["type"] = "group" if self.is_group else "character"
        return fields


def read_character(source: LooseObject) -> RisuCharacter:
    """Read a character as RisuAI stores it."""
    return RisuCharacter.read(source)


def write_character(character: RisuCharacter) -> dict[str, Json]:
    """The character as RisuAI stores it."""
    return character.write()
