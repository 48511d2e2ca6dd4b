"""Prompts as files that people can read and compare: YAML with blocks of text, and a table of what is where."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import yaml

from tavernkit.prompt.block import Block
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import default_estimator, message_tokens
from tavernkit.values import Json

__all__ = ["UPDATE", "check", "explained", "readable"]

UPDATE = "TAVERNKIT_UPDATE_GOLDENS"
"""Set this in the environment to write the files anew; then read the difference before you keep it."""

_LONG = 60
_SHOWN = 48


def check(golden: Path, actual: str) -> None:
    """Compare with the file, or write it when asked to; a difference is shown line by line."""
    if os.environ.get(UPDATE):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(actual, encoding="utf-8", newline="")
        return
    expected = golden.read_bytes().decode() if golden.exists() else ""
    if actual != expected:
        lines = difflib.unified_diff(
            expected.splitlines(), actual.splitlines(), f"{golden.parent.parent.name}/{golden.name}", "now", lineterm=""
        )
        shown = "\n".join(lines) or "Only the line breaks at the end differ."
        raise AssertionError(f"{shown}\n\nIf this is right, run the test again with {UPDATE}=1.")


def readable(payload: Json) -> str:
    """A payload as it would be sent, with every longer text as a block."""
    plain = msgspec.to_builtins(payload)
    return yaml.dump(plain, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10_000)


def explained(plan: Plan, model: str, speaker: str = "") -> str:
    """Every block with its origin and its size, what was left out, what was noticed, and the rest of the request."""
    return "\n".join(line.rstrip() for line in _explained(plan, model, speaker)) + "\n"


def _explained(plan: Plan, model: str, speaker: str) -> Iterator[str]:
    report = plan.trim_report
    if speaker:
        yield speaker
        yield ""
    if report is not None:
        yield f"{report.final_tokens} of {report.budget_tokens} tokens sent, {report.tokens_saved} left out"
    yield ""
    yield f"{'tokens':>6}  {'role':10}  {'slot':18}  {'source':46}  text"
    for block in plan.enabled_blocks:
        yield _row(block, model)
    if left_out := [block for block in plan.blocks if not block.enabled]:
        yield "\nleft out"
        reasons = {} if report is None else {record.block_id: record.reason for record in report.evictions}
        yield from (f"{_row(block, model)}  ({reasons.get(block.id, 'not counted')})" for block in left_out)
    if plan.warnings:
        yield "\nwarnings"
        yield from (f"  {warning.code}: {warning.message}" for warning in plan.warnings)
    if plan.outlets:
        yield "\noutlets"
        yield from (f"  {name}: {text!r}" for name, text in plan.outlets.items())
    yield "\nrequest"
    yield from (f"  {line}" for line in readable(plan.llm_options).splitlines())
    yield "\nhow messages are written"
    yield from (f"  {line}" for line in readable(plan.dialect_options).splitlines())


def _row(block: Block, model: str) -> str:
    tokens = message_tokens(block.to_message(), default_estimator(), model)
    source = f"{block.source['stage']}: {block.source['id']}"
    text = block.content.replace("\n", "⏎")
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    role = block.role if block.name is None else f"{block.role}*"
    return f"{tokens:>6}  {role:10}  {block.slot:18}  {source:46}  {shown}"


class _Dumper(yaml.SafeDumper):
    """Lists are indented under their key, and longer texts are blocks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text or len(text) > _LONG else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
