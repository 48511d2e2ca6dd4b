"""A model's thoughts: found in its replies, whole or as they arrive, and sent back with the chat."""

from tavernkit.sillytavern.reasoning.parsing import (
    Parsed,
    ReceivedReply,
    parse_reasoning,
    receive_reply,
    remove_reasoning,
)
from tavernkit.sillytavern.reasoning.returning import (
    ChatThought,
    PromptReasoning,
    ReasoningPrefix,
    format_reasoning,
    returned_reasoning,
)
from tavernkit.sillytavern.reasoning.streaming import ReasoningState, ReasoningStream, StreamedReply

__all__ = [
    "ChatThought",
    "Parsed",
    "PromptReasoning",
    "ReasoningPrefix",
    "ReasoningState",
    "ReasoningStream",
    "ReceivedReply",
    "StreamedReply",
    "format_reasoning",
    "parse_reasoning",
    "receive_reply",
    "remove_reasoning",
    "returned_reasoning",
]
