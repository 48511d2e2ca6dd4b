"""The front door of SillyTavern's layer: what SillyTavern has goes in, the request it would send comes out."""

from __future__ import annotations

import re
from typing import Unpack

from tavernkit.errors import RegexError
from tavernkit.presets import Preset
from tavernkit.prompt.build import BuildInputs, build_on, shows_inputs
from tavernkit.prompt.built import Built
from tavernkit.prompt.context import Context
from tavernkit.prompt.finishing import before_trimming
from tavernkit.prompt.inputs import check_kind, unpacked
from tavernkit.prompt.pipeline import Pipeline
from tavernkit.sillytavern import text_completion
from tavernkit.sillytavern.chat_completion import assembly, compilation, entries, injection, pinned, trimming
from tavernkit.sillytavern.chat_completion.request import chosen_model
from tavernkit.sillytavern.chat_completion.scene import ChatScene
from tavernkit.sillytavern.errors import InvalidPresetError
from tavernkit.sillytavern.presets import ChatPreset, ContextTemplate, Instruct, MasterExport, TextPreset
from tavernkit.sillytavern.replying import SillyTavernResult, result_of
from tavernkit.sillytavern.settings import UserSettings
from tavernkit.sillytavern.stages.inputs import hooks
from tavernkit.sillytavern.stages.lore import lore
from tavernkit.sillytavern.story import Story
from tavernkit.sillytavern.text_completion import TextWorkspace
from tavernkit.text.js_regex import JsRegex, compile_regex

_WITH_FLAGS = re.compile(r"/(.+)/([a-z]*)", re.DOTALL)

CONTEXT_SWITCHES = ("always_force_name2", "trim_sentences", "single_line")


def chat_pipeline() -> Pipeline:
    """The stages of a chat completion; edit the returned pipeline to make your own."""
    return Pipeline(
        [
            ("hooks", hooks),
            ("lore", lore),
            ("entries", entries.entries),
            ("pinned_groups", pinned.pinned_groups),
            ("history", pinned.history),
            ("injections", injection.injections),
            ("compilation", compilation.compilation),
            ("macros", entries.macro_expansion),
            ("plan_assembly", assembly.plan_assembly),
            ("before_trimming", before_trimming),
            ("trimming", trimming.trimming),
        ]
    )


def text_pipeline() -> Pipeline:
    """The stages of a text completion; the text is put together and fitted in `compilation`."""
    return Pipeline(
        [
            ("hooks", hooks),
            ("lore", lore),
            ("history", text_completion.history),
            ("compilation", text_completion.compilation),
            ("plan_assembly", text_completion.plan_assembly),
            ("before_trimming", before_trimming),
            ("trimming", text_completion.trimming),
        ]
    )


@shows_inputs
def build(
    *, story: Story | None = None, pipeline: Pipeline | None = None, trace: bool = False, **inputs: Unpack[BuildInputs]
) -> Built[SillyTavernResult]:
    """Build the prompt that SillyTavern would send.

    A ChatPreset, or none, makes a chat completion; a TextPreset a text completion, with the templates of
    `story.settings`. Without a model, tokens are counted for the one that the preset names.
    """
    check_kind("story", story, Story)
    check_kind("pipeline", pipeline, Pipeline)
    given = inputs.get("preset")
    preset = ChatPreset() if given is None else unpacked(given, [])
    inputs["preset"] = preset if given is None else given
    if inputs.get("model") in (None, "") and isinstance(preset, ChatPreset):
        inputs["model"] = chosen_model(preset) or None

    def choose(ctx: Context) -> Pipeline:
        if ctx.lore_engine is not None:
            ctx.warn(
                "lore_engine_ignored",
                "SillyTavern's World Info scans the books of this build: lore_engine has no effect.",
            )
        scene, usual = _workbench(_for_model(story or Story(), ctx.model), preset)
        ctx.attach(scene)
        return pipeline or usual

    return build_on(choose, result_of, inputs, trace=trace)


def with_templates(story: Story, export: MasterExport) -> Story:
    """The story with the templates that a master export holds; what the export lacks stays as it was."""
    settings = story.settings
    if export.instruct is not None:
        settings = settings.with_(instruct=export.instruct.with_(enabled=True))
    if export.context is not None:
        settings = with_context(settings, export.context)
    if export.sysprompt is not None:
        settings = settings.with_(sysprompt=export.sysprompt.with_(enabled=export.sysprompt.enabled is not False))
    if export.reasoning is not None:
        kept = {name: getattr(export.reasoning, name) for name in ("name", "prefix", "suffix", "separator")}
        settings = settings.with_(reasoning=settings.reasoning.with_(**kept))
    if export.srw is not None:
        settings = settings.with_(user_prompt_bias=export.srw.value)
    return story.with_(settings=settings)


def with_context(settings: UserSettings, template: ContextTemplate) -> UserSettings:
    """The settings with a context template, and with the switches that SillyTavern keeps in its file."""
    written = template.spelling or {}
    switches = {name: getattr(template, name) for name in CONTEXT_SWITCHES if name in written}
    return settings.with_(context=template, **switches)


def _for_model(story: Story, model: str | None) -> Story:
    """With the first template whose activation pattern is found in the model's name."""
    if not model or not story.settings.instruct.enabled:
        return story
    template = next((template for template in story.instruct_templates if _is_for(template, model)), None)
    if template is None:
        return story
    return story.with_(settings=story.settings.with_(instruct=template.with_(enabled=True)))


def _workbench(story: Story, preset: Preset) -> tuple[ChatScene | TextWorkspace, Pipeline]:
    match preset:
        case ChatPreset():
            return ChatScene(story), chat_pipeline()
        case TextPreset():
            return TextWorkspace(story), text_pipeline()
        case _:
            raise InvalidPresetError(
                f"SillyTavern's prompts are built from a ChatPreset or a TextPreset, not a {type(preset).__name__}."
            )


def activation_pattern(written: str) -> JsRegex:
    """The pattern by which an instruct template knows its models; one without slashes ignores case.

    Raises RegexError.
    """
    found = _WITH_FLAGS.fullmatch(written)
    return compile_regex(found[1], found[2]) if found else compile_regex(written, "i")


def _is_for(template: Instruct, model: str) -> bool:
    """A pattern that is broken, or takes too long, finds nothing."""
    if not template.activation_regex:
        return False
    try:
        return activation_pattern(template.activation_regex).test(model)
    except RegexError:
        return False
