"""Jobs of everybody: listed, stopped and repeated by an administrator."""

from pathlib import Path
from uuid import UUID

import pytest

from tavernkit.playground.base.jobs.service import claim_job, enqueue_job, fail_job
from tavernkit.playground.edge.presenting.administration import JOB_KINDS
from tavernkit.playground.story.background import HANDLERS, REPEATABLE
from tavernkit.playground.story.migration.exporting import EXPORT_KIND
from tests.playground.accounts.installation import Installation, open_installation

JOBS = "/api/v1/admin/jobs"


async def failed(installation: Installation, kind: str, owner_id: UUID | None) -> str:
    """A job that has failed."""
    runtime = installation.runtime
    async with runtime.database.write() as session:
        job = await enqueue_job(session, runtime, kind=kind, owner_id=owner_id, payload={"crashes": [2, 0]})
    claim = await claim_job(runtime, "w1", [kind])
    assert claim is not None
    await fail_job(runtime, claim, "failed", "The disk is full.")
    return str(job.id)


@pytest.mark.anyio
async def test_jobs_are_listed_by_state_with_the_reason_stopped_and_repeated(database_url: str, tmp_path: Path) -> None:
    async with open_installation(database_url, tmp_path) as installation:
        browser = await installation.signed_in(await installation.owner_with_password())
        hugo = await installation.add("Hugo")
        export = await failed(installation, EXPORT_KIND, hugo.user_id)
        files = await failed(installation, "character_import", None)
        (first, second) = (await browser.get(JOBS, params={"status": "failed"})).json()["items"]
        assert (first["id"], first["owner"], first["is_repeatable"]) == (files, None, False)
        assert (second["owner"], second["is_repeatable"]) == ("Hugo", True)
        assert second["error"]["message"] == "The disk is full."
        assert (await browser.get(JOBS, params={"status": "running"})).json()["items"] == []

        refused = await browser.post(f"{JOBS}/{files}/retry")
        assert (refused.status_code, "cannot be repeated" in refused.text) == (409, True)
        again = (await browser.post(f"{JOBS}/{export}/retry")).json()
        assert (again["status"], again["error"], again["done"]) == ("queued", None, 0)
        assert (await browser.post(f"{JOBS}/{export}/retry")).status_code == 409
        assert (await browser.post(f"{JOBS}/{export}/cancel")).json()["status"] == "canceled"


def test_every_kind_of_job_has_a_name_on_the_page() -> None:
    assert set(HANDLERS) >= REPEATABLE
    assert set(JOB_KINDS) == set(HANDLERS)
