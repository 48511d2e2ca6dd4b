"""Memory: what a story no longer has room for, as exchanges and summaries, and which of it a prompt is reminded of.

Nothing here is loaded by `import tavernkit`. Search by meaning, `tavernkit.memory.dense`, needs numpy.
"""

from tavernkit.memory.embedders import DenseIndex, Embedder, InMemoryVectors, VectorKey, VectorStore, embedded_default
from tavernkit.memory.endpoints import EMBEDDING_SHAPES, EmbeddingRequest, read_embeddings, write_embedding_request
from tavernkit.memory.lexical import Bm25Index, LexicalIndex, RecallHit
from tavernkit.memory.recalling import (
    RankedItem,
    Ranking,
    Recall,
    RecalledPassage,
    RecallIndex,
    RecallOptions,
    RecallVerdict,
    index_texts,
    recall,
)
from tavernkit.memory.summaries import (
    InMemorySummaries,
    StorySummary,
    Summariser,
    SummaryOptions,
    SummaryRange,
    SummaryRequest,
    SummaryStore,
    accept_summary,
    catch_up,
    needed_summaries,
    newest_summaries,
    summary_items,
    summary_ranges,
)
from tavernkit.memory.units import Decisions, MemoryDecision, MemoryItem, StoryMessage, exchanges, text_hash

__all__ = [
    "EMBEDDING_SHAPES",
    "Bm25Index",
    "Decisions",
    "DenseIndex",
    "Embedder",
    "EmbeddingRequest",
    "InMemorySummaries",
    "InMemoryVectors",
    "LexicalIndex",
    "MemoryDecision",
    "MemoryItem",
    "RankedItem",
    "Ranking",
    "Recall",
    "RecallHit",
    "RecallIndex",
    "RecallOptions",
    "RecallVerdict",
    "RecalledPassage",
    "StoryMessage",
    "StorySummary",
    "Summariser",
    "SummaryOptions",
    "SummaryRange",
    "SummaryRequest",
    "SummaryStore",
    "VectorKey",
    "VectorStore",
    "accept_summary",
    "catch_up",
    "embedded_default",
    "exchanges",
    "index_texts",
    "needed_summaries",
    "newest_summaries",
    "read_embeddings",
    "recall",
    "summary_items",
    "summary_ranges",
    "text_hash",
    "write_embedding_request",
]
