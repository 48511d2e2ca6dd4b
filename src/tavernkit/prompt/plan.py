"""The finished prompt: blocks in order, what was warned about and trimmed, and how to send it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tavernkit import dialects
from tavernkit.prompt.block import Block
from tavernkit.prompt.message import Message
from tavernkit.prompt.tokens import TokenEstimator
from tavernkit.prompt.trace import Trace
from tavernkit.prompt.trimming import TrimReport
from tavernkit.prompt.warning import BuildWarning
from tavernkit.values import Json, JsonObject, Value


class Plan(Value, frozen=True, kw_only=True):
    """What a build returns. `blocks` holds the evicted ones too, disabled, so that a plan can show what is missing.

    `dialect_options` are what the build knows and a dialect needs (names, prefill, …); `llm_options` are for the
    model's request beside the messages.
    """

    blocks: tuple[Block, ...] = ()
    llm_options: JsonObject = {}
    dialect_options: JsonObject = {}
    outlets: JsonObject = {}
    warnings: tuple[BuildWarning, ...] = ()
    trim_report: TrimReport | None = None
    trace: Trace | None = None
    greeting: str | None = None
    metadata: JsonObject = {}

    @property
    def enabled_blocks(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.enabled)

    @property
    def left_out(self) -> tuple[Block, ...]:
        """What is in the plan but not in the prompt: evicted, or disabled by a stage."""
        return tuple(block for block in self.blocks if not block.enabled)

    def block(self, id: str) -> Block:
        """The block with this id, such as an eviction record names; raises KeyError."""
        for block in self.blocks:
            if block.id == id:
                return block
        raise KeyError(f"This plan has no block with the id {id!r}.")

    def blocks_of(self, slot: str) -> tuple[Block, ...]:
        """What the prompt says under a slot, such as `history` or `main`."""
        return tuple(block for block in self.blocks if block.enabled and block.slot == slot)

    def tokens(self, estimator: TokenEstimator | None = None, model_hint: str | None = None) -> dict[str, int]:
        """What the prompt says, in tokens by slot; a block without one counts under its budget group."""
        counts: dict[str, int] = {}
        for block in self.enabled_blocks:
            name = block.slot or block.token_budget_group
            counts[name] = counts.get(name, 0) + block.tokens(estimator, model_hint)
        return counts

    @property
    def messages(self) -> tuple[Message, ...]:
        """What will be said, in order, before any provider's dialect."""
        return tuple(block.to_message() for block in self.blocks if block.enabled)

    def to_messages(self, dialect: str = "openai", **options: Any) -> Json:
        """The messages in a provider's own shape; `options` win over what the build chose."""
        return dialects.convert(self.messages, dialect=dialect, **{**self.dialect_options, **options})

    def fingerprint(self, dialect: str = "openai", **options: Any) -> str:
        """SHA-256 of what would be sent; block ids do not count."""
        return fingerprint(self.to_messages(dialect, **options), self.llm_options)


def fingerprint(*parts: Json) -> str:
    """SHA-256 of the parts as canonical JSON: keys sorted, no spaces, lone surrogates allowed."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()
