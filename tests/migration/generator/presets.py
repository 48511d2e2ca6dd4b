"""Presets of every kind; some hold addresses and keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.migration.generator.manifest import BLANKED, EXACT, KEPT, READ_OR_KEPT, FolderWriter
from tests.migration.generator.scripts import regex_script
from tests.migration.generator.texts import sentence


def write_presets(folder: FolderWriter, count: int) -> None:
    """At least so many in all, of each kind about the same number."""
    random = folder.random
    for number in range(max(count, 2 * len(KINDS))):
        name = list(KINDS)[number % len(KINDS)]
        stem = f"Preset {number // len(KINDS)}"
        expected = READ_OR_KEPT if name in UNUSED else EXACT
        folder.add_json(f"{name}/{stem}.json", KINDS[name](random, stem), "preset", expected)
    secrets = ("reverse_proxy", "proxy_password", "custom_url", "custom_include_headers", "azure_base_url")
    keys = {name: folder.secret() for name in secrets}
    folder.add_json("OpenAI Settings/With keys.json", {**_openai(random, ""), **keys}, "preset", BLANKED)
    scripts = {"extensions": {"regex_scripts": [regex_script(random, "Of the preset")]}}
    folder.add_json("OpenAI Settings/With scripts.json", {**_openai(random, ""), **scripts}, "preset")
    # The marker of a finished conversion inside SillyTavern, not a preset.
    folder.add("sysprompt/.migrated", b"", "kept", KEPT)


def _openai(random: Random, name: str) -> dict[str, Any]:
    main = {"identifier": "main", "name": "Main Prompt", "system_prompt": True, "role": "system"}
    history = {"identifier": "chatHistory", "name": "Chat History", "system_prompt": True, "marker": True}
    order = [{"identifier": prompt["identifier"], "enabled": True} for prompt in (main, history)]
    return {
        "chat_completion_source": "openai",
        "openai_model": "gpt-4o",
        "stream_openai": True,
        "temperature": _temperature(random),
        "top_p": 1,
        "openai_max_context": 8192,
        "openai_max_tokens": 300,
        "prompts": [{**main, "content": sentence(random)}, history],
        "prompt_order": [{"character_id": 100001, "order": order}],
        "x_unknown": [None, random.randrange(9)],
    }


def _textgen(random: Random, name: str) -> dict[str, Any]:
    return {"temp": _temperature(random), "top_p": 0.9, "top_k": 40, "min_p": 0.05, "rep_pen": 1.1, "genamt": 300}


def _kobold(random: Random, name: str) -> dict[str, Any]:
    order = [6, 0, 1, 3, 4, 2, 5]
    return {"temp": _temperature(random), "rep_pen": 1.1, "sampler_order": order, "max_length": 2048}


def _novel(random: Random, name: str) -> dict[str, Any]:
    order = [1, 5, 0, 2, 3, 4]
    return {"order": order, "temperature": _temperature(random), "max_length": 150, "prefix": "vanilla"}


def _temperature(random: Random) -> float:
    return round(random.uniform(0, 2), 2)


def _instruct(random: Random, name: str) -> dict[str, Any]:
    sequences = {"input_sequence": "<|user|>", "output_sequence": "<|bot|>", "system_sequence": "<|sys|>"}
    return {**sequences, "stop_sequence": f"<|end{random.randrange(99)}|>", "wrap": True, "macro": True, "name": name}


def _context(random: Random, name: str) -> dict[str, Any]:
    story = f"{{{{#if system}}}}{{{{system}}}}\n{{{{/if}}}}{sentence(random, 3)}{{{{trim}}}}"
    return {"story_string": story, "example_separator": "***", "chat_start": "***", "name": name}


def _sysprompt(random: Random, name: str) -> dict[str, Any]:
    return {"name": name, "content": sentence(random), "post_history": ""}


def _reasoning(random: Random, name: str) -> dict[str, Any]:
    return {"name": name, "prefix": "<think>\n", "suffix": "\n</think>", "separator": f"\n{random.randrange(99)}\n"}


KINDS: Mapping[str, Callable[[Random, str], dict[str, Any]]] = {
    "OpenAI Settings": _openai,
    "TextGen Settings": _textgen,
    "KoboldAI Settings": _kobold,
    "NovelAI Settings": _novel,
    "instruct": _instruct,
    "context": _context,
    "sysprompt": _sysprompt,
    "reasoning": _reasoning,
}
UNUSED = ("KoboldAI Settings", "NovelAI Settings")
