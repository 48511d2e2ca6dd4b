"""The standard estimator: counts as the hinted model does, as far as that is known."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from tavernkit.prompt.tokens.count_cache import CountCache
from tavernkit.prompt.tokens.encoding import CharacterRatio, Encoding, EncodingInfo, EncodingUnavailable, TokenPiece
from tavernkit.prompt.tokens.models import DEFAULT_ENCODING, hint_matches, known_encoding
from tavernkit.prompt.tokens.segments import well_formed
from tavernkit.prompt.tokens.tokenizer_file import load_tokenizer_file
from tavernkit.prompt.tokens.vocabulary_encoding import load_vocabulary_encoding

_MAX_CHOICES = 512


class _Choice(NamedTuple):
    encoding: Encoding
    exact: bool


class ModelTokenEstimator:
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
        self._loaded: dict[str | Path, Encoding | None] = {}
        self._loading = Lock()
        self._choices: dict[str | None, _Choice] = {}

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

    def _choose(self, model_hint: str | None) -> _Choice:
        choice = self._choices.get(model_hint)
        if choice is None:
            if len(self._choices) >= _MAX_CHOICES:
                self._choices.clear()
            choice = self._choices[model_hint] = self._choose_encoding(model_hint)
        return choice

    def _choose_encoding(self, model_hint: str | None) -> _Choice:
        hint = model_hint or ""
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


@cache
def default_estimator() -> ModelTokenEstimator:
    """The estimator that is used where none is given; one for the whole process, so that builds share its counts."""
    return ModelTokenEstimator()
