"""Who is asked for a size in tokens: counts as the hinted model does, as far as that is known, and remembers them."""

from __future__ import annotations

import hashlib
import math
import os
import sys
import warnings
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

from tavernkit.load_hooks import LoadScope
from tavernkit.prompt.message import Attachment
from tavernkit.prompt.tokens.encoding import (
    CharacterRatio,
    Encoding,
    EncodingInfo,
    EncodingUnavailable,
    TokenPiece,
    VocabularyEncoding,
    lines,
    load_tokenizer_file,
    load_vocabulary_encoding,
)
from tavernkit.text.js_strings import well_formed

_KEPT_AS_TEXT = 1024
# What an entry takes beside its text: the key, the number and the links between entries.
_ENTRY_BYTES = 250


class CountCache:
    """Remembers counts by encoding and content, forgetting what was not asked for longest; safe between threads."""

    def __init__(self, *, max_entries: int = 20_000, max_bytes: int = 16 * 1024 * 1024) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._counts: OrderedDict[tuple[Encoding, str | bytes], int] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def bytes_used(self) -> int:
        """About how much memory the entries take."""
        return self._bytes

    def count(self, encoding: Encoding, text: str) -> int:
        """The number of tokens of `text`, counted only if it is not remembered."""
        key = (encoding, text if len(text) <= _KEPT_AS_TEXT else _digest(text))
        with self._lock:
            count = self._counts.get(key)
            if count is not None:
                self._counts.move_to_end(key)
                return count
        parts = lines(text) if isinstance(encoding, VocabularyEncoding) and "\n" in text else ()
        # A prompt is new in every turn, but most of its lines are not; a whole book must not push out the rest.
        by_line = 1 < len(parts) <= self._max_entries // 4
        count = self._count_lines(encoding, parts) if by_line else encoding.count(well_formed(text))
        self._remember(key, count)
        return count

    def _count_lines(self, encoding: Encoding, parts: Sequence[str]) -> int:
        total = 0
        unknown: list[tuple[tuple[Encoding, str | bytes], str]] = []
        with self._lock:
            for part in parts:
                key = (encoding, part if len(part) <= _KEPT_AS_TEXT else _digest(part))
                count = self._counts.get(key)
                if count is None:
                    unknown.append((key, part))
                else:
                    self._counts.move_to_end(key)
                    total += count
        for key, part in unknown:
            count = encoding.count(well_formed(part))
            self._remember(key, count)
            total += count
        return total

    def _remember(self, key: tuple[Encoding, str | bytes], count: int) -> None:
        with self._lock:
            if key not in self._counts:
                self._bytes += _size(key[1])
            self._counts[key] = count
            while self._counts and (len(self._counts) > self._max_entries or self._bytes > self._max_bytes):
                (_, content), _ = self._counts.popitem(last=False)
                self._bytes -= _size(content)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _size(content: str | bytes) -> int:
    return sys.getsizeof(content) + _ENTRY_BYTES


DEFAULT_ENCODING = "o200k_base"

# In this order; the first glob that matches decides. The names of the encodings themselves work as hints too.
_MODELS = {
    "o200k_base": (
        *("o200k*", "gpt-4o*", "gpt-4.[1-9]*", "gpt-[5-9]*", "gpt-oss*", "chatgpt-*", "codex-*"),
        *("o[1-9]", "o[1-9]-*"),
    ),
    "cl100k_base": (*("cl100k*", "gpt-4*", "gpt-3.5*", "gpt-35*", "text-embedding-*", "davinci-002*", "babbage-002*"),),
    "p50k_base": ("p50k*", "text-davinci-00[23]", "code-davinci-*", "code-cushman-*"),
    "r50k_base": (
        *("r50k*", "text-davinci-001", "text-curie-*", "text-babbage-*", "text-ada-*"),
        *("davinci", "curie", "babbage", "ada", "gpt2*", "gpt-2*"),
    ),
}


def known_encoding(model_hint: str) -> str | None:
    """The encoding of one of OpenAI's models, or None for a model that is not known here."""
    matching = (name for name, globs in _MODELS.items() if any(hint_matches(model_hint, glob) for glob in globs))
    return next(matching, None)


def hint_matches(model_hint: str, glob: str) -> bool:
    """Whether the hint, or just the model in `openai/gpt-4o` and `ft:gpt-4o:mine`, matches; case is ignored."""
    hint, glob = model_hint.strip().lower(), glob.lower()
    model = hint.rpartition("/")[2].removeprefix("ft:")
    return fnmatchcase(hint, glob) or fnmatchcase(model, glob)


IMAGE_TOKENS = 765
LOW_DETAIL_IMAGE_TOKENS = 85
TILE_TOKENS = 170
TILE, SHORT_SIDE, LONG_SIDE = 512, 768, 2048


class TokenEstimator(Protocol):
    """Says how many tokens a text is; must give a number for any text, never an exception."""

    @abstractmethod
    def estimate(self, text: str, model_hint: str | None = None) -> int: ...


class SaidText(Protocol):
    """What tokens are counted of: a message, or a block that becomes one."""

    @property
    def content(self) -> str: ...

    @property
    def name(self) -> str | None: ...

    @property
    def attachments(self) -> Sequence[Attachment]: ...


def message_tokens(message: SaidText, estimator: TokenEstimator, model_hint: str | None = None) -> int:
    """Content, name and attachments; what a provider adds around a message is not counted here."""
    total = estimator.estimate(message.content, model_hint)
    if message.name:
        total += estimator.estimate(message.name, model_hint)
    return total + sum(map(attachment_tokens, message.attachments))


def attachment_tokens(attachment: Attachment) -> int:
    """What the attachment says it costs; else what OpenAI's models take for an image of its size, a square megapixel
    where that is not known, and nothing for other kinds."""
    if attachment.tokens is not None:
        return attachment.tokens
    if attachment.kind != "image":
        return 0
    if attachment.detail == "low":
        return LOW_DETAIL_IMAGE_TOKENS
    if not attachment.width or not attachment.height:
        return IMAGE_TOKENS
    sides = sorted((attachment.width, attachment.height))
    scale = min(1.0, SHORT_SIDE / sides[0], LONG_SIDE / sides[1])
    tiles = [math.ceil(math.floor(side * scale) / TILE) or 1 for side in sides]
    return LOW_DETAIL_IMAGE_TOKENS + TILE_TOKENS * tiles[0] * tiles[1]


_MAX_CHOICES = 512


class _Choice(NamedTuple):
    encoding: Encoding
    exact: bool


class ModelTokenEstimator(TokenEstimator):
    """Chooses an encoding by the model hint, loads it when it is first needed, and remembers what it counted.

    `tokenizers` maps globs of model names to `tokenizer.json` files and is asked first, in its order. What
    cannot be loaded is replaced by the next best way of counting, with one RuntimeWarning.
    """

    def __init__(
        self,
        *,
        tokenizers: Mapping[str, str | os.PathLike[str]] | None = None,
        fallback: CharacterRatio | None = None,
        cache: CountCache | None = None,
    ) -> None:
        self._tokenizers = tuple((glob, Path(path)) for glob, path in (tokenizers or {}).items())
        self._fallback = CharacterRatio() if fallback is None else fallback
        self._cache = CountCache() if cache is None else cache
        self._estimators: dict[str, TokenEstimator] = {}
        self._loaded: dict[str | Path, Encoding | None] = {}
        self._loading = Lock()
        self._choose = lru_cache(maxsize=_MAX_CHOICES)(self._choose_encoding)

    def register(self, glob: str, estimator: TokenEstimator) -> None:
        """Have another estimator count for the models whose names match; it is asked before anything else, and the
        last one that was registered first."""
        self._estimators = {glob: estimator, **{old: one for old, one in self._estimators.items() if old != glob}}
        self._choose.cache_clear()

    @property
    def estimators(self) -> Mapping[str, TokenEstimator]:
        """Those that were registered, by the globs of their models."""
        return self._estimators

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        """How many tokens the text is; special tokens' names in it are ordinary text."""
        return self._cache.count(self._choose(model_hint).encoding, text)

    def tokenize(self, text: str, model_hint: str | None = None) -> list[TokenPiece]:
        """The tokens themselves; an empty list where tokens are only guessed from characters."""
        return self._choose(model_hint).encoding.tokenize(well_formed(text))

    def describe(self, model_hint: str | None = None) -> EncodingInfo:
        """How `estimate` counts for this model, and whether the model would count the same."""
        encoding, exact = self._choose(model_hint)
        return EncodingInfo(name=encoding.name, source=encoding.source, exact=exact)

    def _choose_encoding(self, model_hint: str | None) -> _Choice:
        hint = model_hint or ""
        for glob, estimator in self._estimators.items():
            if hint_matches(hint, glob):
                return _Choice(_EstimatorEncoding(glob, estimator, hint), exact=False)
        for glob, path in self._tokenizers:
            if hint_matches(hint, glob) and (tokenizer := self._load(path, partial(load_tokenizer_file, path))):
                return _Choice(tokenizer, exact=True)
        known = known_encoding(hint)
        name = known or DEFAULT_ENCODING
        if vocabulary := self._load(name, partial(load_vocabulary_encoding, name)):
            return _Choice(vocabulary, exact=known is not None)
        return _Choice(self._fallback, exact=False)

    def _load(self, key: str | Path, load: Callable[[], Encoding]) -> Encoding | None:
        with self._loading:
            if key not in self._loaded:
                try:
                    self._loaded[key] = load()
                except EncodingUnavailable as unavailable:
                    self._loaded[key] = None
                    warnings.warn(str(unavailable), RuntimeWarning, stacklevel=4)
            return self._loaded[key]


class _EstimatorEncoding:
    """An estimator of somebody else's, asked about one model, as one of the ways of counting."""

    def __init__(self, glob: str, estimator: TokenEstimator, model_hint: str) -> None:
        self.name = glob
        self.source = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
        self._estimator = estimator
        self._model_hint = model_hint

    def count(self, text: str) -> int:
        return self._estimator.estimate(text, self._model_hint)

    def tokenize(self, text: str) -> list[TokenPiece]:  # noqa: ARG002 - the protocol's signature
        """An estimator counts tokens, and does not say which."""
        return []


_default_estimator = LoadScope("tavernkit.token_estimators", ModelTokenEstimator)


def default_estimator() -> ModelTokenEstimator:
    """The estimator that is used where none is given; one for the whole process, so that builds share its counts. Load
    hooks of its scope may register others in it, each for some models."""
    return _default_estimator()
