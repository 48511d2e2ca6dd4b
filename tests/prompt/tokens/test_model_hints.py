import pytest
import tiktoken.model

from tavernkit.prompt.tokens import EncodingInfo, ModelTokenEstimator


@pytest.mark.parametrize(
    ("hint", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-mini-2024-07-18", "o200k_base"),
        ("chatgpt-4o-latest", "o200k_base"),
        ("gpt-4.1-nano", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("gpt-5.1-codex", "o200k_base"),
        ("gpt-oss-120b", "o200k_base"),
        ("o1", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("o4-mini-high", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-4-0314", "cl100k_base"),
        ("gpt-3.5-turbo-16k", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("text-embedding-ada-002", "cl100k_base"),
        ("text-davinci-003", "p50k_base"),
        ("code-davinci-002", "p50k_base"),
        ("davinci", "r50k_base"),
        ("text-ada-001", "r50k_base"),
        ("gpt2", "r50k_base"),
        ("openai/gpt-4o", "o200k_base"),
        ("openrouter/openai/gpt-4-turbo:beta", "cl100k_base"),
        ("ft:gpt-3.5-turbo:someone::id", "cl100k_base"),
        (" GPT-4O ", "o200k_base"),
        ("cl100k_base", "cl100k_base"),
    ],
)
def test_a_known_model_is_counted_exactly(estimator: ModelTokenEstimator, hint: str, encoding: str) -> None:
    assert estimator.describe(hint) == EncodingInfo(name=encoding, source="tiktoken", exact=True)


@pytest.mark.parametrize("hint", [None, "", "claude-sonnet-4-5", "deepseek/deepseek-chat", "o", "opus", "my-gpt-4"])
def test_an_unknown_model_is_counted_with_the_newest_encoding_and_said_to_be_inexact(estimator, hint) -> None:
    assert estimator.describe(hint) == EncodingInfo(name="o200k_base", source="tiktoken", exact=False)


def test_the_hint_decides_the_count(estimator: ModelTokenEstimator) -> None:
    text = "灯台には誰もいなかった"
    counts = [estimator.estimate(text, hint) for hint in ("gpt-4o", "gpt-4", "davinci")]
    assert counts == sorted(set(counts))


SHIPPED = {"o200k_base", "cl100k_base", "p50k_base", "r50k_base"}
SAME_VOCABULARY = {"gpt2": "r50k_base", "o200k_harmony": "o200k_base", "p50k_edit": "p50k_base"}
# Retired models of a family that is otherwise younger or older; nobody can call them any more.
RETIRED = ("text-similarity-", "text-search-", "code-search-", "davinci-codex", "cushman-codex", "text-davinci-edit-")


@pytest.mark.parametrize("model", [name for name in tiktoken.model.MODEL_TO_ENCODING if not name.startswith(RETIRED)])
def test_every_model_that_tiktoken_knows_is_known_here(estimator: ModelTokenEstimator, model: str) -> None:
    encoding = tiktoken.model.encoding_name_for_model(model)
    expected = EncodingInfo(name=SAME_VOCABULARY.get(encoding, encoding), source="tiktoken", exact=True)
    assert estimator.describe(model) == expected


@pytest.mark.parametrize("prefix", tiktoken.model.MODEL_PREFIX_TO_ENCODING)
def test_every_family_that_tiktoken_knows_is_known_here(estimator: ModelTokenEstimator, prefix: str) -> None:
    encoding = tiktoken.model.MODEL_PREFIX_TO_ENCODING[prefix]
    assert estimator.describe(prefix + "2026-11-01").name == SAME_VOCABULARY.get(encoding, encoding)
