"""Servers that embed texts: what they are sent, and what they answer."""

import json
from base64 import b64encode
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.errors import InvalidEmbeddingsError
from tavernkit.memory import EMBEDDING_SHAPES, read_embeddings, write_embedding_request

ROWS = [[0.5, 1.0], [0.25, -1.0]]
ANSWERS = {
    "openai": {"data": [{"index": 1, "embedding": ROWS[1]}, {"index": 0, "embedding": ROWS[0]}]},
    "mistral": {"data": [{"index": 0, "embedding": ROWS[0]}, {"index": 1, "embedding": ROWS[1]}]},
    "ollama": {"model": "m", "embeddings": ROWS},
    "llamacpp": [{"index": 1, "embedding": [ROWS[1]]}, {"index": 0, "embedding": [ROWS[0]]}],
    "gemini": {"embeddings": [{"values": row} for row in ROWS]},
    "cohere": {"id": "x", "embeddings": {"float": ROWS}},
    "nomic": {"embeddings": ROWS},
}
REQUESTS = {
    "openai": ("/v1/embeddings", {"model": "m", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2}),
    "mistral": ("/v1/embeddings", {"model": "m", "input": ["a", "b"], "output_dimension": 2}),
    "ollama": ("/api/embed", {"model": "m", "input": ["a", "b"], "truncate": True, "dimensions": 2}),
    "llamacpp": ("/embedding", {"content": ["a", "b"]}),
    "gemini": (
        "/v1beta/models/m:batchEmbedContents",
        {
            "requests": [
                {
                    "model": "models/m",
                    "content": {"parts": [{"text": text}]},
                    "taskType": "RETRIEVAL_QUERY",
                    "outputDimensionality": 2,
                }
                for text in "ab"
            ]
        },
    ),
    "cohere": (
        "/v2/embed",
        {
            "model": "m",
            "texts": ["a", "b"],
            "input_type": "search_query",
            "embedding_types": ["float"],
            "output_dimension": 2,
        },
    ),
    "nomic": (
        "/v1/embedding/text",
        {"model": "m", "texts": ["a", "b"], "task_type": "search_query", "dimensionality": 2},
    ),
}


@pytest.mark.parametrize("shape", EMBEDDING_SHAPES)
def test_a_request_has_the_form_of_its_server(shape: str) -> None:
    request = write_embedding_request(shape, "m", ["a", "b"], purpose="query", dimensions=2)
    assert (request.path, request.body) == REQUESTS[shape]


@pytest.mark.parametrize("shape", EMBEDDING_SHAPES)
def test_vectors_are_read_in_the_order_of_the_texts(shape: str) -> None:
    assert read_embeddings(shape, json.dumps(ANSWERS[shape]).encode(), 2) == ROWS


def test_vectors_in_base64_are_read() -> None:
    data = [{"index": place, "embedding": b64encode(pack("<2f", *row)).decode()} for place, row in enumerate(ROWS)]
    assert read_embeddings("openai", json.dumps({"data": data}).encode(), 2) == ROWS


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"embeddings": ROWS[:1]}, "answered 1 embeddings for 2 texts"),
        ({"embeddings": [[1.0], [1.0, 2.0]]}, "different lengths"),
        ({"embeddings": [[], []]}, "empty"),
        ({"error": "no such model"}, "no embeddings in the format ollama"),
    ],
)
def test_a_wrong_answer_is_refused_in_a_sentence(body: object, message: str) -> None:
    with pytest.raises(InvalidEmbeddingsError, match=message):
        read_embeddings("ollama", json.dumps(body).encode(), 2)


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="shape is 'x'; it must be one of 'openai'"):
        write_embedding_request("x", "m", ["a"])


@given(st.sampled_from(sorted(EMBEDDING_SHAPES)), st.binary(max_size=60))
def test_no_answer_raises_anything_else(shape: str, body: bytes) -> None:
    with pytest.raises(InvalidEmbeddingsError):
        read_embeddings(shape, body, 2)
