"""A character as RisuAI keeps it, beyond what a card's common fields hold."""

from __future__ import annotations

from tavernkit.reading import LooseObject
from tavernkit.risuai.lore_entry import LoreEntry, read_lore
from tavernkit.risuai.module import AssetName, read_asset_names
from tavernkit.risuai.regex_script import RisuRegexScript, read_scripts
from tavernkit.risuai.trigger import Trigger, read_triggers
from tavernkit.values import JsonObject, Value


class LoreSettings(Value, frozen=True, kw_only=True):
    """What a character's lorebook sets instead of the application's settings; None leaves these as they are."""

    token_budget: int | None = None
    scan_depth: int | None = None
    recursive_scanning: bool = True
    full_word_matching: bool = False


class RisuDepthPrompt(Value, frozen=True, kw_only=True):
    """A text that stands so many messages before the end of the prompt."""

    depth: int = 0
    prompt: str = ""


class PicturePrompts(Value, frozen=True, kw_only=True):
    """How the model is asked for pictures in its replies: new ones, or emotions, whose names stand at `{{slot}}`."""

    instructions: str = ""
    emotion_instructions: str = ""


class RisuCharacter(Value, frozen=True, kw_only=True):
    """A character. `written` is the object that it was read from, with everything that is not named here."""

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
    written: JsonObject = {}

    @property
    def display_name(self) -> str:
        """What `{{char}}` stands for: the nickname where there is one."""
        return self.nickname or self.name


def read_character(source: LooseObject) -> RisuCharacter:
    """Read a character as RisuAI stores it."""
    return RisuCharacter(
        name=source.text("name"),
        id=source.text("chaId"),
        nickname=source.text("nickname"),
        is_group=source.raw("type") == "group",
        description=source.text("desc"),
        personality=source.text("personality"),
        scenario=source.text("scenario"),
        first_message=source.text("firstMessage"),
        alternate_greetings=source.texts("alternateGreetings"),
        example_message=source.text("exampleMessage"),
        system_prompt=source.text("systemPrompt"),
        replace_global_note=source.text("replaceGlobalNote"),
        additional_text=source.text("additionalText"),
        depth_prompt=_depth_prompt(source),
        lore=read_lore(source.objects("globalLore")),
        lore_settings=_lore_settings(source),
        scripts=read_scripts(source.objects("customscript")),
        triggers=read_triggers(source.objects("triggerscript")),
        default_variables=source.text("defaultVariables"),
        emotions=read_asset_names(source, "emotionImages"),
        assets=read_asset_names(source, "additionalAssets"),
        lists_assets=source.flag("prebuiltAssetCommand"),
        unlisted_assets=source.texts("prebuiltAssetExclude"),
        view_screen=source.text("viewScreen", default="none"),
        shows_pictures_in_chat=source.flag("inlayViewScreen"),
        picture_prompts=_picture_prompts(source.nested("newGenData")),
        is_utility=source.flag("utilityBot"),
        low_level_access=source.flag("lowLevelAccess"),
        uses_memory=source.flag("supaMemory"),
        written=dict(source.source),
    )


def _depth_prompt(source: LooseObject) -> RisuDepthPrompt | None:
    if not source.object("depth_prompt"):
        return None
    prompt = source.nested("depth_prompt")
    return RisuDepthPrompt(depth=prompt.integer("depth"), prompt=prompt.text("prompt"))


def _picture_prompts(source: LooseObject) -> PicturePrompts:
    return PicturePrompts(
        instructions=source.text("instructions"), emotion_instructions=source.text("emotionInstructions")
    )


def _lore_settings(source: LooseObject) -> LoreSettings | None:
    if not source.object("loreSettings"):
        return None
    settings = source.nested("loreSettings")
    return LoreSettings(
        token_budget=settings.optional_integer("tokenBudget"),
        scan_depth=settings.optional_integer("scanDepth"),
        recursive_scanning=settings.flag("recursiveScanning", default=True),
        full_word_matching=settings.flag("fullWordMatching"),
    )
