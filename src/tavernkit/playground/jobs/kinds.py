"""Which code does which kind of job: the one place where handlers are named."""

from __future__ import annotations

from collections.abc import Mapping

from tavernkit.playground.characters.import_job import IMPORT_KIND, import_staged_files
from tavernkit.playground.chatfiles.import_job import carry_out_chat_import
from tavernkit.playground.chatfiles.importing import CHAT_IMPORT_KIND
from tavernkit.playground.jobs.work import Handler
from tavernkit.playground.pipelines.dry_run import DRY_RUN_KIND, carry_out_dry_run
from tavernkit.playground.pipelines.manual import PIPELINES_KIND, carry_out_pipelines
from tavernkit.playground.runs.candidates import CANDIDATES_KIND, write_candidates
from tavernkit.playground.spaces.removing import REMOVE_KIND, finish_removing_space

__all__ = ["HANDLERS"]

HANDLERS: Mapping[str, Handler] = {
    IMPORT_KIND: import_staged_files,
    CHAT_IMPORT_KIND: carry_out_chat_import,
    REMOVE_KIND: finish_removing_space,
    CANDIDATES_KIND: write_candidates,
    DRY_RUN_KIND: carry_out_dry_run,
    PIPELINES_KIND: carry_out_pipelines,
}
