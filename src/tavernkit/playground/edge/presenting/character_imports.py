"""An import as its page shows it: how far it has come, and what became of each file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Job
from tavernkit.playground.base.jobs.queries import JobFileLine, files_of_job, find_job
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.refused import not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.characters.import_job import IMPORT_KIND, MAX_FILES
from tavernkit.playground.story.characters.queries import CharacterLine, lines_of
from tavernkit.values import Value

FileState: TypeAlias = Literal["waiting", "reading", "imported", "updated", "same", "skipped", "failed", "left"]

AT_ONCE = 200
"""So many files are reported in one answer to a page that is open."""

ENDS: dict[str, FileState] = {"imported": "imported", "updated": "updated", "same": "same", "skipped": "skipped"}


class FileView(Value, frozen=True, kw_only=True):
    """A file that is being imported; the sentence says what became of it.

    `namesake` is the name of the character that the file could become a version of instead.
    """

    job_id: UUID
    position: int
    name: str
    state: FileState
    sentence: str
    notes: tuple[str, ...] = ()
    character: CharacterLine | None = None
    namesake: str = ""


class ImportView(Value, frozen=True, kw_only=True):
    """An import: `next` is the first file whose end is not shown yet; `is_over` when there is nothing to wait for."""

    job: Job
    sentence: str
    is_over: bool
    next: int
    files: tuple[FileView, ...]
    failed: int
    only_failed: bool


async def import_view(
    runtime: Runtime, viewer: Viewer, job_id: UUID, *, after: int | None = None, only_failed: bool = False
) -> ImportView:
    """The whole import; with `after`, only the next files behind those whose end the page shows already."""
    async with runtime.database.read() as session:
        job = await find_job(session, job_id, viewer)
        if job is None or job.kind != IMPORT_KIND:
            raise not_found("import")
        limit = MAX_FILES if after is None else AT_ONCE
        files = await files_of_job(session, job.id, after=None if after is None else after - 1, limit=limit)
        made = {
            UUID(named)
            for file in files
            if file.outcome
            for named in (file.outcome["character_id"], file.outcome.get("namesake_id"))
            if named
        }
        lines = await lines_of(session, viewer, made)
    is_over = job.status not in ("queued", "running")
    views = [_file_view(job, file, lines, is_over=is_over) for file in files]
    seen = _next(views, after or 0)
    settled = views if after is None else [view for view in views if view.state != "waiting"]
    return ImportView(
        job=job,
        sentence=_sentence(job),
        is_over=is_over and (after is None or len(files) < AT_ONCE),
        next=seen,
        files=tuple(view for view in settled if not only_failed or view.state in ("failed", "left")),
        failed=sum(view.state in ("failed", "left") for view in views),
        only_failed=only_failed,
    )


def _next(views: Sequence[FileView], first: int) -> int:
    """The first file whose end is not reported yet."""
    for view in views:
        if view.state in ("waiting", "reading"):
            return view.position
    return views[-1].position + 1 if views else first


def _file_view(job: Job, file: JobFileLine, lines: dict[UUID, CharacterLine], *, is_over: bool) -> FileView:
    if file.outcome is None:
        is_read = job.status == "running" and file.position == job.done
        state: FileState = "left" if is_over else "reading" if is_read else "waiting"
        sentence = {"left": "Not imported.", "reading": "Being read."}.get(state, "Waiting.")
        return FileView(
            job_id=job.id, position=file.position, name=shown_name(file.name), state=state, sentence=sentence
        )
    made = file.outcome["character_id"]
    line = lines.get(UUID(made)) if made else None
    # An import of an earlier release names none.
    named = file.outcome.get("namesake_id")
    namesake = lines.get(UUID(named)) if named and line is not None else None
    return FileView(
        job_id=job.id,
        position=file.position,
        name=shown_name(file.name),
        state=ENDS.get(file.outcome["outcome"], "failed"),
        sentence=file.outcome["sentence"],
        notes=tuple(file.outcome["notes"]),
        character=line,
        namesake="" if namesake is None else shown_name(namesake.name),
    )


def _sentence(job: Job) -> str:
    match job.status:
        case "succeeded":
            return _counted(job)
        case "canceled":
            return "The import was stopped. What had come in by then is here."
        case "failed":
            return str(job.error["message"]) if job.error else "The import ended before its time."
        case _ if job.cancel_requested_at is not None:
            return "Stopping behind the file that is being read."
        case _:
            return "You can leave this page; the import goes on."


def _counted(job: Job) -> str:
    words = {
        "imported": "{} imported",
        "updated": "{} updated",
        "same": "{} here already",
        "skipped": "{} skipped",
        "failed": "{} not readable",
        "missing": "{} did not arrive, send them again",
    }
    counts = [words[name].format(f"{job.result[name]:,}") for name in words if job.result.get(name)]
    return f"Done: {', '.join(counts)}."
