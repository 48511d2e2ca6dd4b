"""Requests to servers that embed texts, and what they answer: bodies alone, sent by whoever has a network."""

from __future__ import annotations

import math
import struct
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from tavernkit.errors import InvalidEmbeddingsError
from tavernkit.values import Json, Value

EmbeddingPurpose: TypeAlias = Literal["document", "query"]
Rows: TypeAlias = list[list[float]]


class EmbeddingRequest(Value, frozen=True, kw_only=True):
    """What is posted: a path below the address of the server, and a JSON body."""

    path: str
    body: Mapping[str, Json]


class _Row(msgspec.Struct):
    embedding: list[float] | str
    index: int = -1


class _Data(msgspec.Struct):
    data: list[_Row]


class _Embeddings(msgspec.Struct):
    embeddings: list[list[float]]


class _LlamaRow(msgspec.Struct):
    embedding: list[list[float]]
    index: int = -1


class _Values(msgspec.Struct):
    values: list[float]


class _Gemini(msgspec.Struct):
    embeddings: list[_Values]


class _Floats(msgspec.Struct):
    floats: list[list[float]] = msgspec.field(name="float")


class _Cohere(msgspec.Struct):
    embeddings: _Floats


class _Shape(NamedTuple):
    write: Callable[[str, Sequence[str], EmbeddingPurpose, int | None], EmbeddingRequest]
    read: Callable[[bytes], Rows]


def write_embedding_request(
    shape: str,
    model: str,
    texts: Sequence[str],
    *,
    purpose: EmbeddingPurpose = "document",
    dimensions: int | None = None,
) -> EmbeddingRequest:
    """The request for the vectors of texts. `dimensions` is left out where a server cannot be asked for them."""
    return _shape(shape).write(model, texts, purpose, dimensions)


def read_embeddings(shape: str, body: bytes, count: int) -> Rows:
    """The vectors in an answer, in the order of the texts. Raises InvalidEmbeddingsError."""
    try:
        rows = _shape(shape).read(body)
    except (msgspec.DecodeError, struct.error, ValueError) as error:
        raise InvalidEmbeddingsError(f"The server's answer has no embeddings in the format {shape}: {error}") from error
    if len(rows) != count:
        raise InvalidEmbeddingsError(f"The server answered {len(rows)} embeddings for {count} texts.")
    if len({len(row) for row in rows}) > 1 or not all(rows):
        raise InvalidEmbeddingsError("The server answered embeddings that are empty or of different lengths.")
    if not all(math.isfinite(number) for row in rows for number in row):
        raise InvalidEmbeddingsError("The server answered an embedding with a number that is not finite.")
    return rows


def _shape(name: str) -> _Shape:
    if name not in EMBEDDING_SHAPES:
        raise ValueError(f"shape is {name!r}; it must be one of {', '.join(map(repr, EMBEDDING_SHAPES))}.")
    return EMBEDDING_SHAPES[name]


def _openai(model: str, texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int | None) -> EmbeddingRequest:  # noqa: ARG001 - the same for both purposes
    body: dict[str, Json] = {"model": model, "input": list(texts), "encoding_format": "float"}
    return EmbeddingRequest(path="/v1/embeddings", body=_with(body, "dimensions", dimensions))


def _mistral(model: str, texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int | None) -> EmbeddingRequest:  # noqa: ARG001 - the same for both purposes
    body: dict[str, Json] = {"model": model, "input": list(texts)}
    return EmbeddingRequest(path="/v1/embeddings", body=_with(body, "output_dimension", dimensions))


def _ollama(model: str, texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int | None) -> EmbeddingRequest:  # noqa: ARG001 - the same for both purposes
    body: dict[str, Json] = {"model": model, "input": list(texts), "truncate": True}
    return EmbeddingRequest(path="/api/embed", body=_with(body, "dimensions", dimensions))


def _llamacpp(model: str, texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int | None) -> EmbeddingRequest:  # noqa: ARG001 - a server has one model, of one size
    return EmbeddingRequest(path="/embedding", body={"content": list(texts)})


def _gemini(model: str, texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int | None) -> EmbeddingRequest:
    name = model if model.startswith("models/") else f"models/{model}"
    task = "RETRIEVAL_QUERY" if purpose == "query" else "RETRIEVAL_DOCUMENT"
    requests = [
        _with(
            {"model": name, "content": {"parts": [{"text": text}]}, "taskType": task},
            "outputDimensionality",
            dimensions,
        )
        for text in texts
    ]
    return EmbeddingRequest(path=f"/v1beta/{name}:batchEmbedContents", body={"requests": requests})


def _cohere(model: str, texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int | None) -> EmbeddingRequest:
    body: dict[str, Json] = {
        "model": model,
        "texts": list(texts),
        "input_type": f"search_{purpose}",
        "embedding_types": ["float"],
    }
    return EmbeddingRequest(path="/v2/embed", body=_with(body, "output_dimension", dimensions))


def _nomic(model: str, texts: Sequence[str], purpose: EmbeddingPurpose, dimensions: int | None) -> EmbeddingRequest:
    body: dict[str, Json] = {"model": model, "texts": list(texts), "task_type": f"search_{purpose}"}
    return EmbeddingRequest(path="/v1/embedding/text", body=_with(body, "dimensionality", dimensions))


def _with(body: dict[str, Json], name: str, dimensions: int | None) -> dict[str, Json]:
    return body if dimensions is None else {**body, name: dimensions}


def _read_data(body: bytes) -> Rows:
    rows = msgspec.json.decode(body, type=_Data).data
    # A server that numbers its rows may answer them in any order; the others leave every number out.
    return [_numbers(row.embedding) for row in sorted(rows, key=lambda row: row.index)]


def _numbers(embedding: list[float] | str) -> list[float]:
    """Some servers answer base64 of float32 whatever they are asked for."""
    if isinstance(embedding, list):
        return embedding
    return [number for (number,) in struct.iter_unpack("<f", b64decode(embedding, validate=True))]


def _read_embeddings(body: bytes) -> Rows:
    return msgspec.json.decode(body, type=_Embeddings).embeddings


def _read_llamacpp(body: bytes) -> Rows:
    rows = msgspec.json.decode(body, type=list[_LlamaRow])
    if any(len(row.embedding) != 1 for row in rows):
        raise ValueError("the server was started without pooling, and answers a vector for each token")
    return [row.embedding[0] for row in sorted(rows, key=lambda row: row.index)]


def _read_gemini(body: bytes) -> Rows:
    return [row.values for row in msgspec.json.decode(body, type=_Gemini).embeddings]


def _read_cohere(body: bytes) -> Rows:
    return msgspec.json.decode(body, type=_Cohere).embeddings.floats


EMBEDDING_SHAPES: Mapping[str, _Shape] = {
    "openai": _Shape(_openai, _read_data),
    "mistral": _Shape(_mistral, _read_data),
    "ollama": _Shape(_ollama, _read_embeddings),
    "llamacpp": _Shape(_llamacpp, _read_llamacpp),
    "gemini": _Shape(_gemini, _read_gemini),
    "cohere": _Shape(_cohere, _read_cohere),
    "nomic": _Shape(_nomic, _read_embeddings),
}
"""The formats of embedding servers, by the name that requests and answers are given."""
