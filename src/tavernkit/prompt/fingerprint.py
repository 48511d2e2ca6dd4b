"""One short name for a prompt's content, the same in every process."""

from __future__ import annotations

import hashlib
import json

from tavernkit.values import Json


def fingerprint(*parts: Json) -> str:
    """SHA-256 of the parts as canonical JSON: keys sorted, no spaces, lone surrogates allowed."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()
