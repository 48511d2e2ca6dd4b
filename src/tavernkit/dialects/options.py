"""What a caller may say about a conversion."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.dialects.speakers import SpeakerNames
from tavernkit.values import Value

DEFAULT_PLACEHOLDER = "Please begin."

PostProcessing: TypeAlias = Literal[
    "none", "merge", "merge_tools", "semi", "semi_tools", "strict", "strict_tools", "single", "claude"
]


class DialectOptions(Value, frozen=True, kw_only=True):
    """The options of `convert`. `docs/dialects.md` says which dialect reads which.

    names               who speaks, for providers that know no names
    placeholder         the user's words where a provider demands some and there are none
    prefill             the beginning of the reply, put into the model's mouth
    use_system_prompt   lift leading system messages out of the conversation
    use_tools           keep tool calls and results; without it they are written as text
    model               the model's name, where the format depends on it
    thought_signatures  send stored thought signatures along
    cache_depth         mark cache breakpoints this many changes of speaker before the end
    cache_system        mark a cache breakpoint at the end of the system prompt
    cache_ttl           how long the provider keeps what is cached: `5m` or `1h`
    prefix_field        the field that marks a trailing assistant message as the beginning of the reply
    post_processing     how messages are merged before they are converted
    verbatim            the messages are one finished text in pieces: join them as they are
    """

    names: SpeakerNames = SpeakerNames()
    placeholder: str = DEFAULT_PLACEHOLDER
    prefill: str = ""
    use_system_prompt: bool = True
    use_tools: bool = True
    model: str = ""
    thought_signatures: bool = True
    cache_depth: int | None = None
    cache_system: bool = False
    cache_ttl: str | None = None
    prefix_field: str = ""
    post_processing: PostProcessing = "none"
    verbatim: bool = False
