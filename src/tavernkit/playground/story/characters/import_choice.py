"""The other choice about an imported file: the new character becomes a version of the one that was here."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import JobFile, SpaceMembership, User
from tavernkit.playground.base.jobs.queries import find_job
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.import_job import IMPORT_KIND, outcome_of
from tavernkit.playground.story.characters.importing import add_as_version
from tavernkit.playground.story.characters.queries import find_character


async def file_as_version(runtime: Runtime, viewer: Viewer, job_id: UUID, position: int) -> None:
    """Turn the character that a file became into a new version of its namesake, as long as no story has it."""
    async with runtime.database.write() as session:
        # As every import of this person does first: no file of theirs is stored meanwhile.
        await session.execute(select(User.id).where(User.id == viewer.user_id).with_for_update(key_share=True))
        job = await find_job(session, job_id, viewer, lock=True)
        file = await session.get(JobFile, (job_id, position))
        if job is None or job.kind != IMPORT_KIND or file is None:
            raise not_found("file")
        named = None if file.outcome is None else file.outcome.get("namesake_id")
        if file.outcome is None or named is None:
            return
        added_id = UUID(file.outcome["character_id"])
        row = await find_character(session, UUID(named), viewer, to_change=True)
        added = await find_character(session, added_id, viewer, to_change=True)
        is_used = select(SpaceMembership.id).where(SpaceMembership.character_id == added_id).limit(1)
        if added.version > 1 or await session.scalar(is_used) is not None:
            sentence = f"{added.name} was edited or is in a story, so it stays a character of its own."
            raise Refused(code="conflict", sentence=sentence)
        file.outcome = outcome_of(await add_as_version(session, runtime, row, added))
        if job.result:
            counts = {"imported": job.result["imported"] - 1, "updated": job.result["updated"] + 1}
            job.result = {**job.result, **counts}
