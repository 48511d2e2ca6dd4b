"""Which model counts with which of the shipped encodings."""

from __future__ import annotations

from fnmatch import fnmatchcase

DEFAULT_ENCODING = "o200k_base"

# In this order; the first glob that matches decides. The names of the encodings themselves work as hints too.
_MODELS = (
    ("o200k*", "o200k_base"),
    ("gpt-4o*", "o200k_base"),
    ("gpt-4.[1-9]*", "o200k_base"),
    ("gpt-[5-9]*", "o200k_base"),
    ("gpt-oss*", "o200k_base"),
    ("chatgpt-*", "o200k_base"),
    ("codex-*", "o200k_base"),
    ("o[1-9]", "o200k_base"),
    ("o[1-9]-*", "o200k_base"),
    ("cl100k*", "cl100k_base"),
    ("gpt-4*", "cl100k_base"),
    ("gpt-3.5*", "cl100k_base"),
    ("gpt-35*", "cl100k_base"),
    ("text-embedding-*", "cl100k_base"),
    ("davinci-002*", "cl100k_base"),
    ("babbage-002*", "cl100k_base"),
    ("p50k*", "p50k_base"),
    ("text-davinci-00[23]", "p50k_base"),
    ("code-davinci-*", "p50k_base"),
    ("code-cushman-*", "p50k_base"),
    ("r50k*", "r50k_base"),
    ("text-davinci-001", "r50k_base"),
    ("text-curie-*", "r50k_base"),
    ("text-babbage-*", "r50k_base"),
    ("text-ada-*", "r50k_base"),
    ("davinci", "r50k_base"),
    ("curie", "r50k_base"),
    ("babbage", "r50k_base"),
    ("ada", "r50k_base"),
    ("gpt2*", "r50k_base"),
    ("gpt-2*", "r50k_base"),
)


def known_encoding(model_hint: str) -> str | None:
    """The encoding of one of OpenAI's models, or None for a model that is not known here."""
    return next((encoding for glob, encoding in _MODELS if hint_matches(model_hint, glob)), None)


def hint_matches(model_hint: str, glob: str) -> bool:
    """Whether the hint, or just the model in `openai/gpt-4o` and `ft:gpt-4o:mine`, matches; case is ignored."""
    hint, glob = model_hint.strip().lower(), glob.lower()
    model = hint.rpartition("/")[2].removeprefix("ft:")
    return fnmatchcase(hint, glob) or fnmatchcase(model, glob)
