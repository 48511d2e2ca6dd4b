"""How much of a stranger's file is read before it is refused."""

from __future__ import annotations

from tavernkit.values import Value

MIB = 1024 * 1024


class CardLimits(Value, frozen=True, kw_only=True):
    """Bounds on untrusted files. The defaults keep one import below 2 seconds and 300 MB."""

    file_bytes: int = 64 * MIB
    json_bytes: int = 16 * MIB
    json_values: int = 500_000
    yaml_bytes: int = 1 * MIB
    yaml_values: int = 20_000
    book_entries: int = 10_000
    assets: int = 5_000
    png_chunks: int = 100_000
    text_chunk_bytes: int = 24 * MIB
    archive_entries: int = 5_000
    archive_entry_bytes: int = 32 * MIB
    archive_total_bytes: int = 256 * MIB
    archive_ratio: int = 200


DEFAULT_LIMITS = CardLimits()
