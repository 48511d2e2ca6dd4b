"""What `preset show` says about a preset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tavernkit.cli.output import Printer, shorten
from tavernkit.cli.preset_files import LABELS, PARTS, AnyPreset, parts_of
from tavernkit.cli.summaries import EXCERPT, FieldSize
from tavernkit.prompt.tokens import default_estimator
from tavernkit.reading import ImportReport, Note
from tavernkit.risuai import RisuSettings
from tavernkit.risuai.st_convert import is_on, template_of
from tavernkit.sillytavern.chat_completion.entries import IN_CHAT, known_prompts, prompt_order
from tavernkit.sillytavern.chat_completion.request import chosen_model
from tavernkit.sillytavern.presets import ChatPreset, MasterExport, PresetPrompt, TextPreset
from tavernkit.sillytavern.presets.fields import PresetFile
from tavernkit.sillytavern.regex_scripts import embedded_scripts
from tavernkit.values import Json, JsonObject, Value

CHAT_SETTINGS = (
    *("temperature", "top_p", "top_k", "top_a", "min_p", "frequency_penalty", "presence_penalty"),
    *("repetition_penalty", "seed", "n", "reasoning_effort", "names_behavior", "squash_system_messages"),
    *("use_sysprompt", "continue_prefill", "custom_prompt_post_processing", "stream_openai", "function_calling"),
)
CHAT_TEXTS = (
    *("new_chat_prompt", "new_group_chat_prompt", "new_example_chat_prompt", "group_nudge_prompt"),
    *("continue_nudge_prompt", "impersonation_prompt", "send_if_empty", "assistant_prefill"),
    *("wi_format", "scenario_format", "personality_format"),
)
NOT_SETTINGS = ("name", "genamt", "max_length", "extensions")


class TextSummary(FieldSize, frozen=True, kw_only=True):
    """One text of a preset."""

    text: str


class PromptSummary(Value, frozen=True, kw_only=True):
    """One prompt; `enabled` is None for one that the order does not name."""

    identifier: str
    name: str
    enabled: bool | None
    role: str
    place: str
    tokens: int
    flags: tuple[str, ...]
    text: str


class PresetOverview(Value, frozen=True, kw_only=True):
    """A preset at a glance; `settings` are the samplers and switches that its file has."""

    file: str = ""
    format: str = ""
    kind: str
    name: str = ""
    model: str = ""
    window: int | None = None
    reply: int | None = None
    settings: Mapping[str, Json] = {}
    prompts: tuple[PromptSummary, ...] = ()
    texts: tuple[TextSummary, ...] = ()
    scripts: int = 0
    notes: tuple[Note, ...] = ()


def summarise_preset(file: str, preset: AnyPreset, report: ImportReport) -> PresetOverview:
    """Look at everything that the file says, and measure it."""
    return _summary(preset).with_(file=file, format=report.format, notes=report.notes)


def _summary(preset: AnyPreset) -> PresetOverview:
    match preset:
        case RisuSettings():
            return PresetOverview(
                kind="a preset of RisuAI",
                name=str(preset.written.get("name") or ""),
                model=preset.model,
                window=preset.max_context,
                reply=preset.max_response,
                settings=dict(_numbers(preset.written)),
                prompts=tuple(_risuai_prompts(preset)),
                scripts=len(preset.scripts),
            )
        case ChatPreset():
            given = _given(preset)
            return PresetOverview(
                kind=LABELS["chat"],
                name=preset.name or "",
                model=chosen_model(preset),
                window=preset.context_window_tokens,
                reply=preset.reserved_response_tokens,
                settings={name: given[name] for name in CHAT_SETTINGS if name in given},
                prompts=tuple(_chat_prompts(preset)),
                texts=tuple(_text(name, str(given[name])) for name in CHAT_TEXTS if given.get(name)),
                scripts=len(embedded_scripts(preset.extensions)),
            )
        case MasterExport():
            parts = list(parts_of(preset))
            return PresetOverview(
                kind="a master export",
                settings={f"{name}.{key}": value for name, part in parts for key, value in _numbers(_given(part))},
                texts=tuple(text for name, part in parts for text in _texts(part, f"{name}.")),
            )
        case _:
            return PresetOverview(
                kind=LABELS[PARTS[type(preset)]],
                name=preset.name or "",
                window=preset.context_window_tokens if isinstance(preset, TextPreset) else None,
                reply=preset.reserved_response_tokens if isinstance(preset, TextPreset) else None,
                settings=dict(_numbers(_given(preset))),
                texts=tuple(_texts(preset)),
                scripts=len(embedded_scripts(preset.extensions)) if isinstance(preset, TextPreset) else 0,
            )


def _given(preset: PresetFile) -> dict[str, Json]:
    """What the file says, under today's names."""
    return {name: getattr(preset, name) for name in preset.modernised(preset.spelling or {}) if hasattr(preset, name)}


def _numbers(fields: JsonObject) -> Iterator[tuple[str, Json]]:
    """Samplers and switches among the fields of a file."""
    for name, value in fields.items():
        if name not in NOT_SETTINGS and isinstance(value, bool | int | float):
            yield name, value


def _texts(preset: PresetFile, where: str = "") -> Iterator[TextSummary]:
    for name, value in _given(preset).items():
        if name not in NOT_SETTINGS and isinstance(value, str) and value:
            yield _text(f"{where}{name}", value)


def _text(name: str, text: str) -> TextSummary:
    return TextSummary(field=name, characters=len(text), tokens=default_estimator().estimate(text), text=text)


def _chat_prompts(preset: ChatPreset) -> Iterator[PromptSummary]:
    """The prompts in the order in which they are sent, then those that no order names."""
    known = known_prompts(preset)
    listed: set[str] = set()
    for toggle in prompt_order(preset):
        listed.add(toggle.identifier)
        missing = PresetPrompt(identifier=toggle.identifier, name="(missing)")
        yield _chat_prompt(known.get(toggle.identifier, missing), enabled=toggle.enabled)
    for prompt in preset.prompts:
        if prompt.identifier not in listed:
            yield _chat_prompt(prompt, enabled=None)


def _chat_prompt(prompt: PresetPrompt, *, enabled: bool | None) -> PromptSummary:
    flags = {
        "marker": prompt.marker,
        f"for {', '.join(prompt.injection_trigger)}": bool(prompt.injection_trigger),
        "not overridden": prompt.forbid_overrides,
    }
    in_chat = f"in chat, depth {prompt.injection_depth}, order {prompt.injection_order}"
    return PromptSummary(
        identifier=prompt.identifier,
        name=prompt.name,
        enabled=enabled,
        role=prompt.role,
        place=in_chat if prompt.injection_position == IN_CHAT else "in order",
        tokens=default_estimator().estimate(prompt.content),
        flags=tuple(flag for flag, is_set in flags.items() if is_set),
        text=prompt.content,
    )


def _risuai_prompts(settings: RisuSettings) -> Iterator[PromptSummary]:
    for card in template_of(settings):
        yield PromptSummary(
            identifier=card.type,
            name=card.name or ("" if card.kind == "normal" else card.kind),
            enabled=is_on(card, settings),
            role=card.role,
            place="in order",
            tokens=default_estimator().estimate(card.text),
            flags=("format",) if card.inner_format else (),
            text=card.text or card.inner_format or "",
        )


def print_preset(printer: Printer, preset: PresetOverview) -> None:
    printer.line(preset.name or "(no name)", style="bold")
    printer.line(preset.kind)
    printer.pair("model", preset.model)
    if preset.window is not None:
        printer.line(f"context size: {preset.window:,} tokens, response length: {preset.reply:,}")
    if preset.settings:
        printer.line()
        printer.table(("setting", "value"), [(name, _shown(value)) for name, value in preset.settings.items()])
    if preset.prompts:
        printer.line()
        printer.table(
            ("", "prompt", "name", "role", "place", "tokens", "flags", "begins"),
            [
                (
                    {True: "on", False: "off", None: "–"}[each.enabled],
                    shorten(each.identifier, 40),
                    shorten(each.name, 30),
                    each.role,
                    each.place,
                    each.tokens,
                    ", ".join(each.flags),
                    shorten(each.text, EXCERPT),
                )
                for each in preset.prompts
            ],
        )
        on = [each for each in preset.prompts if each.enabled]
        printer.line(f"{len(on)} of {len(preset.prompts)} prompts on, {sum(each.tokens for each in on):,} tokens")
    if preset.texts:
        printer.line()
        printer.table(
            ("field", "characters", "tokens", "begins"),
            [(each.field, each.characters, each.tokens, shorten(each.text, EXCERPT)) for each in preset.texts],
        )
    if preset.scripts:
        printer.line()
        printer.line(f"{preset.scripts:,} regex scripts")
    printer.notes(preset.notes)


def _shown(value: Json) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else shorten(str(value), EXCERPT)
