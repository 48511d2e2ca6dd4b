"""What the pieces of kept prompts say, and prompts as earlier versions have kept them."""

from hashlib import sha256
from typing import Any
from uuid import UUID

from sqlalchemy import select

from tavernkit.playground.base.database.models import PromptBlock, PromptPiece, PromptSnapshot
from tavernkit.playground.base.pieces import text_of
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.prompting.stored import read_document


async def kept_pieces(runtime: Runtime) -> list[str]:
    """All pieces of kept prompts, as JSON."""
    async with runtime.database.read() as session:
        return [text_of(data) for data in await session.scalars(select(PromptPiece.data))]


async def make_older(runtime: Runtime, run_id: UUID) -> None:
    """Turn the prompt of a run into what earlier versions have kept: texts by their hashes, and no sources."""
    texts: dict[str, str] = {}

    def hashed(text: str) -> str:
        key = sha256(text.encode()).hexdigest()
        texts[key] = text
        return key

    def by_hash(value: Any) -> Any:
        match value:
            case str() if len(value) > 64:
                return {"$text": hashed(value)}
            case dict():
                return {key: by_hash(item) for key, item in value.items()}
            case list():
                return [by_hash(item) for item in value]
        return value

    async with runtime.database.write() as session:
        snapshot = await session.get_one(PromptSnapshot, run_id)
        document = await read_document(session, snapshot)
        blocks: list[dict[str, Any]] = [dict(block) for block in document.blocks]
        for block in blocks:
            block["sha256"] = hashed(block.pop("content"))
        snapshot.blocks = {"blocks": blocks}
        snapshot.request = by_hash(dict(document.request))
        snapshot.report = dict(document.report)
        snapshot.root = None
        session.add_all(PromptBlock(sha256=key, content=text) for key, text in texts.items())
