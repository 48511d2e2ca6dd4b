"""Recorded chat and text completions, built through our front door."""

from __future__ import annotations

from typing import Any

from tavernkit.characters.character import Character, User
from tavernkit.conformance.vectors import Case, Outcome, compare, loose
from tavernkit.conformance.world_info import read_recorded_book
from tavernkit.lore.book import Book
from tavernkit.prompt.build import BuildInputs
from tavernkit.prompt.message import Message
from tavernkit.prompt.tokens import CharacterRatio, TokenEstimator, default_estimator
from tavernkit.reading import ReportBuilder
from tavernkit.sillytavern.building import build
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt, extension_place, extension_role
from tavernkit.sillytavern.groups import CardMode, GroupMember, StoryGroup
from tavernkit.sillytavern.presets import ChatPreset, TextPreset
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.sillytavern.settings import read_user_settings
from tavernkit.sillytavern.story import (
    AuthorsNote,
    CharacterNote,
    NotePlacement,
    PersonaPlace,
    PersonaPosition,
    QuietPrompt,
    Story,
)
from tavernkit.sillytavern.world_info import read_settings
from tavernkit.values import Json


def check_chat(case: Case) -> Outcome:
    """The messages, what post-processing makes of them, and what they cost."""
    preset = decode(ChatPreset, case["preset"], ReportBuilder())
    inputs = case_inputs(case)
    inputs["preset"] = preset
    plan = build(**inputs, story=case_story(case)).plan
    ours: dict[str, Json] = {"messages": plan.to_messages("openai", post_processing="none")}
    if not preset.squash_system_messages and plan.trim_report is not None:
        ours["token_total"] = plan.trim_report.final_tokens
    return compare(case["expected"], ours, upstream_messages=plan.to_messages("openai"))


def check_text(case: Case) -> Outcome:
    """The text, and where the reply is to stop."""
    inputs = case_inputs(case)
    inputs["preset"] = TextPreset(max_length=case["max_context"], genamt=case["max_tokens"])
    plan = build(**inputs, story=case_story(case)).plan
    ours = {"prompt": plan.to_messages("text"), "stop": plan.llm_options.get("stop", [])}
    return compare(case["expected"], ours)


def case_inputs(case: Case) -> BuildInputs:
    """Who speaks with whom about what."""
    env = case["env"]
    return BuildInputs(
        character=read_character(_speaking_card(env)),
        user=User(name=env["user"], persona=env.get("persona", "")),
        history=[_message(line) for line in env["chat"]],
        books=_books(case, "global"),
        generation_type=case["type"],
        estimator=_estimator(case),
        model=case.get("model"),
    )


def case_story(case: Case) -> Story:
    """The circumstances of the case."""
    env, options = case["env"], case["options"]
    return Story(
        settings=read_user_settings(case["power_user"]).value,
        world_info=read_settings(loose(case["wi_settings"])),
        macros="1.15",
        persona=_persona(env),
        note=_note(case["author_note"]),
        character_note=_character_note(case.get("chara_note")),
        group=_group(env),
        speaker=env["char"] if "group" in env else None,
        extension_prompts=tuple(_extension_prompt(prompt) for prompt in case["extension_prompts"]),
        quiet=_quiet(options),
        character_books=_books(case, "character"),
        chat_books=_books(case, "chat"),
        persona_books=_books(case, "persona"),
    )


def _speaking_card(env: Case) -> Case:
    if "group" not in env:
        return {"name": env["char"], **env["card"]}
    card: Case = next(card for card in env["characters"] if card["name"] == env["char"])
    return card


def read_character(card: Case) -> Character:
    """A card in a case, which has only some of its fields."""
    names = (
        *("name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"),
        *("system_prompt", "post_history_instructions"),
    )
    text: dict[str, Any] = {name: card.get(name) or "" for name in names}
    return Character(**text, extensions={"depth_prompt": card.get("depth_prompt") or {}})


def _message(line: Case) -> Message:
    fields = ("force_avatar", "original_avatar", "extra", "is_system")
    return Message(
        role="user" if line.get("is_user") else "assistant",
        content=line["mes"],
        name=line["name"],
        metadata={field: line[field] for field in fields if field in line},
    )


def _group(env: Case) -> StoryGroup | None:
    if "group" not in env:
        return None
    group = env["group"]
    return StoryGroup(
        cast=tuple(GroupMember(avatar=card["name"], character=read_character(card)) for card in env["characters"]),
        members=tuple(group["members"]),
        disabled=frozenset(group.get("disabled", ())),
        generation_mode=CardMode(group.get("generation_mode", 0)),
        join_prefix=group.get("join_prefix", ""),
        join_suffix=group.get("join_suffix", ""),
    )


def _persona(env: Case) -> PersonaPlace:
    return PersonaPlace(
        position=PersonaPosition(env.get("persona_position", 0)),
        depth=env.get("persona_depth", 2),
        role=extension_role(env.get("persona_role", 0)),
    )


def _note(note: Case | None) -> AuthorsNote:
    if note is None:
        return AuthorsNote()
    return AuthorsNote(
        text=note["prompt"],
        position=extension_place(note.get("position", 1)),
        depth=note.get("depth", 4),
        role=extension_role(note.get("role", 0)),
        interval=note.get("interval", 1),
        scan=note.get("allow_wi_scan", False),
    )


def _character_note(note: Case | None) -> CharacterNote | None:
    return None if note is None else CharacterNote(text=note["prompt"], placement=NotePlacement(note["position"]))


def _extension_prompt(prompt: Case) -> ExtensionPrompt:
    return ExtensionPrompt(
        key=prompt["key"],
        content=prompt["value"],
        position=extension_place(prompt["position"]),
        depth=prompt.get("depth", 0),
        role=extension_role(prompt.get("role", 0)),
        scan=prompt.get("scan", False),
    )


def _quiet(options: Case) -> QuietPrompt | None:
    if "quietPrompt" not in options:
        return None
    return QuietPrompt(
        text=options["quietPrompt"],
        loud=options.get("quietToLoud", False),
        name=options.get("quietName", ""),
        skip_depth_lore=options.get("skipWIAN", False),
    )


def _books(case: Case, scope: str) -> tuple[Book, ...]:
    recorded = [book for book in case["books"] if book["scope"] == scope]
    return tuple(read_recorded_book(book["entries"], name=book["name"]) for book in recorded)


def _estimator(case: Case) -> TokenEstimator:
    return default_estimator() if case["tokenizer"].startswith("tiktoken") else CharacterRatio(3.35)
