"""The dialects by name, and what a caller may say about a conversion. Anyone can add a dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from tavernkit.dialects.speakers import SpeakerNames
from tavernkit.dialects.wire import WireMessage
from tavernkit.errors import UnknownDialectError
from tavernkit.load_hooks import LoadScope
from tavernkit.values import Json, JsonObject, Value

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
    own                 the options that a dialect of your own has registered, by their names
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
    own: JsonObject = {}


Dialect: TypeAlias = Callable[[Sequence[WireMessage], DialectOptions], Json]


class Accepts(Value, frozen=True, kw_only=True):
    """The kinds of attachment a provider takes: as bytes, and by address."""

    data: frozenset[str] = frozenset()
    url: frozenset[str] = frozenset()


_KINDS = frozenset({"image", "audio", "video", "file"})
EVERYTHING = Accepts(data=_KINDS, url=_KINDS)


class Registered(NamedTuple):
    """A dialect, and what is known about its provider."""

    dialect: Dialect
    accepts: Accepts
    system_anywhere: bool
    options: frozenset[str]


_dialects: dict[str, Registered] = {}


def register(
    name: str,
    dialect: Dialect,
    *,
    accepts: Accepts = EVERYTHING,
    system_anywhere: bool = True,
    options: Iterable[str] = (),
    replace: bool = False,
) -> None:
    """Add a dialect. Attachments that it does not accept are refused before it is called. `system_anywhere` says
    whether the provider takes system messages in the middle of a conversation; where not, developer notes there are
    joined to a user's message. `options` names what the dialect takes beside the usual ones; it finds them in
    `DialectOptions.own`."""
    if name in _dialects and not replace:
        raise ValueError(f"A dialect named {name!r} is registered. Use replace=True to replace it.")
    taken = sorted({*options} & {*DialectOptions.__struct_fields__})
    if taken:
        raise ValueError(f"Every dialect has the option {taken[0]!r}; an option of your own needs another name.")
    _dialects[name] = Registered(dialect, accepts, system_anywhere, frozenset(options))


def get(name: str) -> Dialect:
    return registered(name).dialect


def names() -> tuple[str, ...]:
    """Every registered name, in alphabetical order."""
    shared_dialects()
    return tuple(sorted(_dialects))


def special_options() -> frozenset[str]:
    """The options that dialects were registered with."""
    shared_dialects()
    return frozenset().union(*(known.options for known in _dialects.values()))


def registered(name: str) -> Registered:
    shared_dialects()
    return _found(name)


def _found(name: str) -> Registered:
    try:
        return _dialects[name]
    except KeyError:
        raise UnknownDialectError(f"No dialect named {name!r}. Known: {', '.join(sorted(_dialects))}.") from None


class Dialects:
    """What load hooks register dialects in, as `register` of this module does; `get` gives those that are there."""

    register = staticmethod(register)

    def get(self, name: str) -> Dialect:
        return _found(name).dialect


shared_dialects = LoadScope("tavernkit.dialects", Dialects)
