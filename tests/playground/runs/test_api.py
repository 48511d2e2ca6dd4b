"""Runs and rounds over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tavernkit.playground.story.runs.service import cancel_run, checkpoint_run, fail_run
from tavernkit.values import Json
from tests.playground.runs.group import Group, gathered
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

BROKEN = {"code": "connection_error", "message": "Nobody answers there."}


class Table:
    """A group, and a program of its owner's that looks at one conversation."""

    def __init__(self, group: Group, client: httpx2.AsyncClient) -> None:
        self.group = group
        self.client = client
        self.path = f"/conversations/{group.conversation_id}"

    def id(self, name: str) -> str:
        return str(self.group.members[name])

    async def post(self, action: str, body: Any = None) -> httpx2.Response:
        return await self.client.post(f"{self.path}/{action}", json=body)

    async def put(self, what: str, body: Any) -> httpx2.Response:
        return await self.client.put(f"{self.path}/{what}", json=body)

    async def turns(self) -> Any:
        answer = await self.client.get(f"{self.path}/turns")
        assert answer.status_code == 200
        return answer.json()

    async def queue(self) -> list[tuple[str, str]]:
        """Whose turns the round has, and what became of each."""
        return [(slot["name"], slot["status"]) for slot in (await self.turns())["round"]["slots"]]

    async def fail(self, text: str = "") -> str:
        """Let whoever is due fail; gives the run."""
        claim = await self.group.claim()
        assert await fail_run(self.group.runtime, claim, text, BROKEN)
        return str(claim.run_id)


@asynccontextmanager
async def seated(url: str, folder: Path, *names: str, **rules: Json) -> AsyncIterator[Table]:
    order = {"reply_order": "list", **rules}
    async with gathered(url, folder, *names, **order) as group, api_client(group.runtime, group.user_id) as client:
        yield Table(group, client)


def refusal(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_the_turns_tell_who_writes_and_who_is_next(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        before = await table.turns()
        assert (before["state"], before["run"], before["round"]) == ("idle", None, None)
        said = await table.post("messages", {"content": "Good evening."})
        now = await table.turns()
        assert (now["state"], now["auto_mode_remaining_rounds"]) == ("generating", None)
        assert now["revision"] > before["revision"]
        assert (now["run"]["status"], now["run"]["speaker_id"]) == ("queued", table.id("Ada"))
        assert (now["run"]["round_id"], now["run"]["round_position"]) == (now["round"]["id"], 0)
        assert (now["round"]["by"], now["round"]["trigger_message_id"]) == ("person", said.json()["id"])
        assert [(slot["name"], slot["reason"]["cause"]) for slot in now["round"]["slots"]] == [
            ("Ada", "list"),
            ("Bo", "list"),
        ]
        assert "Ada" in now["round"]["slots"][0]["reason"]["sentence"]
        await table.group.speak_all()
        assert (await table.turns())["state"] == "idle"


async def test_every_answer_is_what_is_true_then(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo", "Cy") as table:
        await table.group.say()
        for action in ("pause", "resume", "skip", "pause", "skip"):
            answer = await table.post(f"round/{action}")
            assert (answer.status_code, answer.json()) == (200, await table.turns())
        round_id = (await table.turns())["round"]["id"]
        bodies: list[tuple[str, Any]] = [
            ("round", {"round_id": round_id, "member_ids": [table.id("Bo")]}),
            ("auto-mode", {"rounds": 2}),
            ("copilot", {"steps": 2}),
        ]
        for what, body in bodies:
            answer = await table.put(what, body)
            assert (answer.status_code, answer.json()) == (200, await table.turns())
        ended = await table.post("round/stop")
        assert (ended.json()["state"], ended.json()) == ("idle", await table.turns())


async def test_a_character_is_asked_to_speak(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        bo = await table.post("generate", {"speaker_id": table.id("Bo")})
        assert bo.status_code == 202
        assert (bo.json()["kind"], bo.json()["status"], bo.json()["reason"]) == ("force_talk", "queued", "forced")
        assert await table.group.speak() == "Bo"
        anybody = await table.client.post(f"{table.path}/generate")
        assert (anybody.status_code, anybody.json()["speaker_id"]) == (202, table.id("Ada"))
        assert refusal(await table.post("generate", {"speaker_id": str(uuid4())})) == (404, "not_found")
        assert refusal(await table.post("generate", {"speaker_id": table.id("Owner")})) == (404, "not_found")
        assert refusal(await table.post("generate", {"speaker": table.id("Bo")})) == (422, "invalid")
        await table.group.claim()
        assert refusal(await table.post("generate", {})) == (423, "generation_locked")


async def test_where_nobody_can_speak_nobody_is_asked(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path) as table:
        assert refusal(await table.post("generate", {})) == (409, "conflict")
        assert refusal(await table.post("continue")) == (409, "conflict")
        assert refusal(await table.post("regenerate", {})) == (404, "not_found")
        assert refusal(await table.post("retry")) == (409, "nothing_to_retry")


async def test_the_last_reply_goes_on(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada") as table:
        await table.group.say()
        assert refusal(await table.post("continue")) == (409, "conflict")
        await table.group.speak("Once upon")
        run = await table.post("continue")
        assert (run.status_code, run.json()["kind"], run.json()["speaker_id"]) == (202, "continue", table.id("Ada"))
        last = (await table.client.get(f"{table.path}/messages")).json()["items"][-1]
        assert run.json()["target_message_id"] == last["id"]
        await table.group.speak("Once upon a time.")
        told = (await table.client.get(f"/messages/{last['id']}")).json()
        assert (told["content"], told["swipes_count"]) == ("Once upon a time.", 2)


async def test_what_is_written_for_a_person_is_answered(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada") as table:
        run = await table.post("impersonate")
        assert (run.status_code, run.json()["kind"]) == (202, "impersonate")
        assert run.json()["speaker_id"] == table.id("Owner")
        await table.group.speak("What is that light?")
        assert await table.group.told() == [("Owner", "What is that light?")]
        assert (await table.turns())["run"]["speaker_id"] == table.id("Ada")


async def test_a_reply_is_told_anew_here_or_in_a_branch(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada") as table:
        for words in ("One?", "Two?"):
            await table.group.say(words)
            await table.group.speak()
        messages = (await table.client.get(f"{table.path}/messages")).json()["items"]
        last = await table.post("regenerate", {})
        assert (last.status_code, last.json()["kind"]) == (202, "regenerate")
        assert last.json()["conversation_id"] == str(table.group.conversation_id)
        assert last.json()["target_message_id"] == messages[-1]["id"]
        earlier = await table.post("regenerate", {"message_id": messages[1]["id"]})
        assert earlier.status_code == 202
        branch = (await table.client.get(f"/conversations/{earlier.json()['conversation_id']}")).json()
        assert (branch["kind"], branch["forked_from_message_id"]) == ("branch", messages[1]["id"])
        assert refusal(await table.post("regenerate", {"message_id": messages[0]["id"]})) == (409, "conflict")
        assert refusal(await table.post("regenerate", {"message_id": str(uuid4())})) == (404, "not_found")


async def test_a_failed_reply_is_tried_again_in_its_turn(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        await table.group.say()
        failed = await table.fail("Well, I")
        turns = await table.turns()
        assert (turns["state"], turns["round"]["scheduling_state"]) == ("failed", "failed")
        assert (turns["run"]["id"], turns["run"]["text"]) == (failed, "Well, I")
        assert (turns["run"]["error"], turns["run"]["dismissed"]) == (BROKEN, False)
        again = await table.post("retry")
        assert (again.status_code, again.json()["round_position"]) == (202, 0)
        assert (again.json()["speaker_id"], again.json()["round_id"]) == (table.id("Ada"), turns["round"]["id"])
        assert refusal(await table.post("retry")) == (423, "generation_locked")
        assert await table.group.speak_all() == ["Ada", "Bo"]
        assert refusal(await table.post("retry")) == (409, "nothing_to_retry")


async def test_what_was_written_is_kept_once(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        await table.group.say()
        failed = await table.fail("Well, I")
        kept = await table.client.post(f"/runs/{failed}/keep")
        assert (kept.status_code, kept.json()["content"], kept.json()["author"]["name"]) == (200, "Well, I", "Ada")
        assert kept.json() == (await table.client.get(f"/messages/{kept.json()['id']}")).json()
        assert refusal(await table.client.post(f"/runs/{failed}/keep")) == (409, "nothing_to_keep")
        assert (await table.turns())["run"]["speaker_id"] == table.id("Bo")


async def test_what_was_written_is_discarded_and_the_round_is_over(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        await table.group.say()
        waiting = (await table.turns())["run"]["id"]
        assert refusal(await table.client.post(f"/runs/{waiting}/discard")) == (409, "conflict")
        failed = await table.fail("Well, I")
        discarded = await table.client.post(f"/runs/{failed}/discard")
        assert (discarded.status_code, discarded.json()["dismissed"]) == (200, True)
        turns = await table.turns()
        assert (turns["state"], turns["run"], turns["round"]) == ("idle", None, None)


async def test_a_failed_turn_is_passed_over(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        await table.group.say()
        failed = await table.fail("Well, I")
        skipped = (await table.post("round/skip")).json()
        assert (skipped["state"], skipped["run"]["speaker_id"]) == ("generating", table.id("Bo"))
        first = skipped["round"]["slots"][0]
        assert (first["status"], first["skip_reason"]) == ("skipped", "skipped")
        assert (await table.client.get(f"/runs/{failed}")).json()["text"] == "Well, I"


async def test_nobody_has_to_decide_about_the_last_turn_once_it_is_passed_over(
    database_url: str, tmp_path: Path
) -> None:
    async with seated(database_url, tmp_path, "Ada") as table:
        await table.group.say()
        await table.fail("Well, I")
        skipped = (await table.post("round/skip")).json()
        assert (skipped["state"], skipped["run"], skipped["round"]) == ("idle", None, None)


async def test_a_reply_that_failed_outside_of_a_round_waits_too(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo", reply_order="manual") as table:
        await table.post("generate", {"speaker_id": table.id("Bo")})
        failed = await table.fail("Well, I")
        turns = await table.turns()
        assert (turns["state"], turns["run"]["id"], turns["round"]) == ("failed", failed, None)
        again = await table.post("retry")
        assert (again.json()["kind"], again.json()["speaker_id"]) == ("force_talk", table.id("Bo"))
        await table.fail()
        await table.post("messages", {"content": "Never mind."})
        turns = await table.turns()
        assert (turns["state"], turns["run"]) == ("idle", None)


async def test_a_run_is_stopped(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        await table.group.say()
        waiting = (await table.turns())["run"]["id"]
        stopped = await table.client.post(f"/runs/{waiting}/stop")
        assert (stopped.status_code, stopped.json()["status"]) == (200, "canceled")
        assert (await table.turns())["state"] == "paused"
        await table.post("round/resume")
        claim = await table.group.claim()
        stopping = await table.client.post(f"/runs/{claim.run_id}/stop")
        assert stopping.json()["status"] == "running"
        assert (await table.turns())["state"] == "generating"
        await cancel_run(table.group.runtime, claim, "Well")
        turns = await table.turns()
        assert (turns["state"], turns["run"]["status"], turns["run"]["text"]) == ("paused", "canceled", "Well")
        again = await table.client.post(f"/runs/{claim.run_id}/stop")
        assert (again.status_code, again.json()["status"]) == (200, "canceled")


async def test_a_run_shows_what_it_has_written(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada") as table:
        await table.group.say()
        claim = await table.group.claim()
        await checkpoint_run(table.group.runtime, claim, "Once")
        shown = (await table.client.get(f"/runs/{claim.run_id}")).json()
        assert (shown["status"], shown["text"], shown["finished_at"]) == ("running", "Once", None)
        assert shown["started_at"] >= shown["created_at"]
        assert (await table.turns())["run"] == shown
        assert refusal(await table.client.get(f"/runs/{uuid4()}")) == (404, "not_found")


async def test_runs_come_in_pages_the_newest_first(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        for _ in range(2):
            await table.group.say()
            await table.group.speak_all()
        made = [str(run.id) for run in reversed(await table.group.runs())]
        first = (await table.client.get(f"{table.path}/runs", params={"limit": 3})).json()
        rest = (await table.client.get(f"{table.path}/runs", params={"after": first["next"]})).json()
        assert ([run["id"] for run in first["items"]], [run["id"] for run in rest["items"]]) == (made[:3], made[3:])
        assert rest["next"] is None
        assert refusal(await table.client.get(f"{table.path}/runs", params={"after": "x"})) == (422, "invalid")


async def test_the_queue_is_chosen_by_hand(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo", "Cy", reply_order="manual") as table:
        ada, bo, cy = (table.id(name) for name in ("Ada", "Bo", "Cy"))
        assert refusal(await table.put("round", {"round_id": None, "member_ids": []})) == (409, "conflict")
        begun = await table.put("round", {"round_id": None, "member_ids": [cy, ada, cy]})
        assert (begun.status_code, begun.json()["run"]["speaker_id"]) == (200, cy)
        assert begun.json()["round"]["slots"][0]["reason"]["cause"] == "chosen"
        changed = {"round_id": begun.json()["round"]["id"], "member_ids": [bo]}
        assert (await table.put("round", changed)).status_code == 200
        assert await table.queue() == [("Cy", "pending"), ("Bo", "pending")]
        assert await table.group.speak_all() == ["Cy", "Bo"]


async def test_who_saw_another_round_is_told_how_it_is_now(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        await table.group.say()
        for seen in (None, str(uuid4())):
            refused = await table.put("round", {"round_id": seen, "member_ids": [table.id("Bo")]})
            assert refusal(refused) == (409, "stale")
            assert refused.json()["error"]["current"] == await table.turns()
        assert await table.queue() == [("Ada", "pending"), ("Bo", "pending")]


async def test_the_queue_holds_only_those_who_can_speak_and_not_too_many(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada") as table:
        for stranger in (table.id("Owner"), str(uuid4())):
            refused = await table.put("round", {"round_id": None, "member_ids": [stranger]})
            assert refusal(refused) == (404, "not_found")
        full = await table.put("round", {"round_id": None, "member_ids": [table.id("Ada")] * 101})
        assert refusal(full) == (422, "invalid")
        assert refusal(await table.put("round", {"member_ids": []})) == (422, "invalid")


async def test_a_round_is_paused_behind_the_reply_that_is_written(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        for action in ("pause", "resume", "skip", "stop"):
            assert refusal(await table.post(f"round/{action}")) == (409, "conflict")
        await table.group.say()
        claim = await table.group.claim()
        paused = (await table.post("round/pause")).json()
        assert (paused["state"], paused["round"]["scheduling_state"]) == ("generating", "paused")
        assert refusal(await table.post("round/resume")) == (409, "conflict")
        await cancel_run(table.group.runtime, claim, "")
        assert (await table.turns())["state"] == "paused"
        assert (await table.post("round/resume")).json()["run"]["speaker_id"] == table.id("Ada")


async def test_characters_go_on_by_themselves(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo", auto_mode_delay_ms=0) as table:
        on = await table.put("auto-mode", {"rounds": 2})
        assert (on.status_code, on.json()["auto_mode_remaining_rounds"]) == (200, 2)
        assert (on.json()["run"]["kind"], on.json()["round"]["by"]) == ("auto_mode", "automation")
        assert await table.group.speak_all() == ["Ada", "Bo"] * 2
        assert (await table.turns())["auto_mode_remaining_rounds"] is None
        for rounds in (-1, 11):
            assert refusal(await table.put("auto-mode", {"rounds": rounds})) == (422, "invalid")


async def test_one_character_does_not_go_on_by_itself(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada") as table:
        assert refusal(await table.put("auto-mode", {"rounds": 1})) == (409, "conflict")
        assert (await table.put("auto-mode", {"rounds": 0})).status_code == 200


async def test_a_model_writes_on_for_a_person(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", auto_mode_delay_ms=0) as table:
        on = await table.put("copilot", {"steps": 1})
        assert (on.status_code, on.json()["state"]) == (200, "generating")
        assert refusal(await table.post("messages", {"content": "Hm."})) == (403, "copilot_blocked")
        assert (await table.put("copilot", {"steps": 0})).status_code == 200
        await table.post("round/stop")
        assert (await table.post("messages", {"content": "Hm."})).status_code == 201
        for steps in (-1, 11):
            assert refusal(await table.put("copilot", {"steps": steps})) == (422, "invalid")


@pytest.mark.parametrize("ending", ["discard", "stop"])
async def test_who_ends_a_round_ends_what_goes_on_by_itself(database_url: str, tmp_path: Path, ending: str) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo", auto_mode_delay_ms=0) as table:
        for what, body in (("auto-mode", {"rounds": 3}), ("copilot", {"steps": 3})):
            run = (await table.put(what, body)).json()["run"]["id"]
            await table.client.post(f"/runs/{run}/stop")
            ended = await (table.post("round/stop") if ending == "stop" else table.client.post(f"/runs/{run}/discard"))
            assert ended.status_code == 200
            turns = await table.turns()
            assert (turns["state"], turns["run"], turns["auto_mode_remaining_rounds"]) == ("idle", None, None)
        assert (await table.group.member("Owner")).copilot_mode == "none"


async def test_in_an_archived_conversation_nothing_is_begun(database_url: str, tmp_path: Path) -> None:
    async with seated(database_url, tmp_path, "Ada", "Bo") as table:
        await table.group.say()
        failed = await table.fail("Well, I")
        archived = {"settings_version": 0, "archived": True}
        assert (await table.client.patch(table.path, json=archived)).status_code == 200
        actions = ["generate", "continue", "impersonate", "regenerate", "retry"]
        actions += [f"round/{action}" for action in ("pause", "resume", "skip", "stop")]
        for action in actions:
            answer = await table.client.post(f"{table.path}/{action}")
            assert (action, *refusal(answer)) == (action, 409, "conflict")
        bodies: dict[str, Any] = {
            "round": {"round_id": None, "member_ids": [table.id("Ada")]},
            "auto-mode": {"rounds": 1},
            "copilot": {"steps": 1},
        }
        for what, body in bodies.items():
            assert (what, *refusal(await table.put(what, body))) == (what, 409, "conflict")
        assert refusal(await table.client.post(f"/runs/{failed}/keep")) == (409, "conflict")
        assert (await table.turns())["state"] == "failed"
