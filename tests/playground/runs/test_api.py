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
from tests.playground.runs.group import Group, group_story
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio

BROKEN = {"code": "connection_error", "message": "Nobody answers there."}


class GroupApi:
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
async def group_api(url: str, folder: Path, *names: str, **rules: Json) -> AsyncIterator[GroupApi]:
    order = {"reply_order": "list", **rules}
    async with group_story(url, folder, *names, **order) as group, api_client(group.runtime, group.user_id) as client:
        yield GroupApi(group, client)


def refusal(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_the_turns_tell_who_writes_and_who_is_next(database_url: str, tmp_path: Path) -> None:
    async with group_api(database_url, tmp_path, "Ada", "Bo") as api:
        before = await api.turns()
        assert (before["state"], before["run"], before["round"]) == ("idle", None, None)
        said = await api.post("messages", {"content": "Good evening."})
        now = await api.turns()
        assert (now["state"], now["auto_mode_remaining_rounds"]) == ("generating", None)
        assert now["revision"] > before["revision"]
        assert (now["run"]["status"], now["run"]["speaker_id"]) == ("queued", api.id("Ada"))
        assert (now["run"]["round_id"], now["run"]["round_position"]) == (now["round"]["id"], 0)
        assert (now["round"]["by"], now["round"]["trigger_message_id"]) == ("person", said.json()["id"])
        assert [(slot["name"], slot["reason"]["cause"]) for slot in now["round"]["slots"]] == [
            ("Ada", "list"),
            ("Bo", "list"),
        ]
        assert "Ada" in now["round"]["slots"][0]["reason"]["sentence"]
        await api.group.speak_all()
        assert (await api.turns())["state"] == "idle"


async def test_every_answer_is_what_is_true_then(database_url: str, tmp_path: Path) -> None:
    async with group_api(database_url, tmp_path, "Ada", "Bo", "Cy") as api:
        await api.group.say()
        for action in ("pause", "resume", "skip", "pause", "skip"):
            answer = await api.post(f"round/{action}")
            assert (answer.status_code, answer.json()) == (200, await api.turns())
        round_id = (await api.turns())["round"]["id"]
        bodies: list[tuple[str, Any]] = [
            ("round", {"round_id": round_id, "member_ids": [api.id("Bo")]}),
            ("auto-mode", {"rounds": 2}),
            ("copilot", {"steps": 2}),
        ]
        for what, body in bodies:
            answer = await api.put(what, body)
            assert (answer.status_code, answer.json()) == (200, await api.turns())
        ended = await api.post("round/stop")
        assert (ended.json()["state"], ended.json()) == ("idle", await api.turns())


async def test_a_character_is_asked_to_speak(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        bo = await api.post("generate", {"speaker_id": api.id("Bo")})
        assert bo.status_code == 202
        assert (bo.json()["kind"], bo.json()["status"], bo.json()["reason"]) == ("force_talk", "queued", "forced")
        assert await api.group.speak() == "Bo"
        anybody = await api.client.post(f"{api.path}/generate")
        assert (anybody.status_code, anybody.json()["speaker_id"]) == (202, api.id("Ada"))
        assert refusal(await api.post("generate", {"speaker_id": str(uuid4())})) == (404, "not_found")
        assert refusal(await api.post("generate", {"speaker_id": api.id("Owner")})) == (404, "not_found")
        assert refusal(await api.post("generate", {"speaker": api.id("Bo")})) == (422, "invalid")
        await api.group.claim()
        assert refusal(await api.post("generate", {})) == (423, "generation_locked")


async def test_where_nobody_can_speak_nobody_is_asked(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path) as api:
        assert refusal(await api.post("generate", {})) == (409, "conflict")
        assert refusal(await api.post("continue")) == (409, "conflict")
        assert refusal(await api.post("regenerate", {})) == (404, "not_found")
        assert refusal(await api.post("retry")) == (409, "nothing_to_retry")


async def test_the_last_reply_goes_on(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada") as api:
        await api.group.say()
        assert refusal(await api.post("continue")) == (409, "conflict")
        await api.group.speak("Once upon")
        run = await api.post("continue")
        assert (run.status_code, run.json()["kind"], run.json()["speaker_id"]) == (202, "continue", api.id("Ada"))
        last = (await api.client.get(f"{api.path}/messages")).json()["items"][-1]
        assert run.json()["target_message_id"] == last["id"]
        await api.group.speak("Once upon a time.")
        told = (await api.client.get(f"/messages/{last['id']}")).json()
        assert (told["content"], told["swipes_count"]) == ("Once upon a time.", 2)


async def test_what_is_written_for_a_person_is_answered(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada") as api:
        run = await api.post("impersonate")
        assert (run.status_code, run.json()["kind"]) == (202, "impersonate")
        assert run.json()["speaker_id"] == api.id("Owner")
        await api.group.speak("What is that light?")
        assert await api.group.told() == [("Owner", "What is that light?")]
        assert (await api.turns())["run"]["speaker_id"] == api.id("Ada")


async def test_a_reply_is_told_anew_here_or_in_a_branch(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada") as api:
        for words in ("One?", "Two?"):
            await api.group.say(words)
            await api.group.speak()
        messages = (await api.client.get(f"{api.path}/messages")).json()["items"]
        last = await api.post("regenerate", {})
        assert (last.status_code, last.json()["kind"]) == (202, "regenerate")
        assert last.json()["conversation_id"] == str(api.group.conversation_id)
        assert last.json()["target_message_id"] == messages[-1]["id"]
        earlier = await api.post("regenerate", {"message_id": messages[1]["id"]})
        assert earlier.status_code == 202
        branch = (await api.client.get(f"/conversations/{earlier.json()['conversation_id']}")).json()
        assert (branch["kind"], branch["forked_from_message_id"]) == ("branch", messages[1]["id"])
        assert refusal(await api.post("regenerate", {"message_id": messages[0]["id"]})) == (409, "conflict")
        assert refusal(await api.post("regenerate", {"message_id": str(uuid4())})) == (404, "not_found")


async def test_a_failed_reply_is_tried_again_in_its_turn(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        await api.group.say()
        failed = await api.fail("Well, I")
        turns = await api.turns()
        assert (turns["state"], turns["round"]["scheduling_state"]) == ("failed", "failed")
        assert (turns["run"]["id"], turns["run"]["text"]) == (failed, "Well, I")
        assert (turns["run"]["error"], turns["run"]["dismissed"]) == (BROKEN, False)
        again = await api.post("retry")
        assert (again.status_code, again.json()["round_position"]) == (202, 0)
        assert (again.json()["speaker_id"], again.json()["round_id"]) == (api.id("Ada"), turns["round"]["id"])
        assert refusal(await api.post("retry")) == (423, "generation_locked")
        assert await api.group.speak_all() == ["Ada", "Bo"]
        assert refusal(await api.post("retry")) == (409, "nothing_to_retry")


async def test_what_was_written_is_kept_once(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        await api.group.say()
        failed = await api.fail("Well, I")
        kept = await api.client.post(f"/runs/{failed}/keep")
        assert (kept.status_code, kept.json()["content"], kept.json()["author"]["name"]) == (200, "Well, I", "Ada")
        assert kept.json() == (await api.client.get(f"/messages/{kept.json()['id']}")).json()
        assert refusal(await api.client.post(f"/runs/{failed}/keep")) == (409, "nothing_to_keep")
        assert (await api.turns())["run"]["speaker_id"] == api.id("Bo")


async def test_what_was_written_is_discarded_and_the_round_is_over(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        await api.group.say()
        waiting = (await api.turns())["run"]["id"]
        assert refusal(await api.client.post(f"/runs/{waiting}/discard")) == (409, "conflict")
        failed = await api.fail("Well, I")
        discarded = await api.client.post(f"/runs/{failed}/discard")
        assert (discarded.status_code, discarded.json()["dismissed"]) == (200, True)
        turns = await api.turns()
        assert (turns["state"], turns["run"], turns["round"]) == ("idle", None, None)


async def test_a_failed_turn_is_passed_over(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        await api.group.say()
        failed = await api.fail("Well, I")
        skipped = (await api.post("round/skip")).json()
        assert (skipped["state"], skipped["run"]["speaker_id"]) == ("generating", api.id("Bo"))
        first = skipped["round"]["slots"][0]
        assert (first["status"], first["skip_reason"]) == ("skipped", "skipped")
        assert (await api.client.get(f"/runs/{failed}")).json()["text"] == "Well, I"


async def test_nobody_has_to_decide_about_the_last_turn_once_it_is_passed_over(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada") as api:
        await api.group.say()
        await api.fail("Well, I")
        skipped = (await api.post("round/skip")).json()
        assert (skipped["state"], skipped["run"], skipped["round"]) == ("idle", None, None)


async def test_a_reply_that_failed_outside_of_a_round_waits_too(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo", reply_order="manual") as api:
        await api.post("generate", {"speaker_id": api.id("Bo")})
        failed = await api.fail("Well, I")
        turns = await api.turns()
        assert (turns["state"], turns["run"]["id"], turns["round"]) == ("failed", failed, None)
        again = await api.post("retry")
        assert (again.json()["kind"], again.json()["speaker_id"]) == ("force_talk", api.id("Bo"))
        await api.fail()
        await api.post("messages", {"content": "Never mind."})
        turns = await api.turns()
        assert (turns["state"], turns["run"]) == ("idle", None)


async def test_a_run_is_stopped(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        await api.group.say()
        waiting = (await api.turns())["run"]["id"]
        stopped = await api.client.post(f"/runs/{waiting}/stop")
        assert (stopped.status_code, stopped.json()["status"]) == (200, "canceled")
        assert (await api.turns())["state"] == "paused"
        await api.post("round/resume")
        claim = await api.group.claim()
        stopping = await api.client.post(f"/runs/{claim.run_id}/stop")
        assert stopping.json()["status"] == "running"
        assert (await api.turns())["state"] == "generating"
        await cancel_run(api.group.runtime, claim, "Well")
        turns = await api.turns()
        assert (turns["state"], turns["run"]["status"], turns["run"]["text"]) == ("paused", "canceled", "Well")
        again = await api.client.post(f"/runs/{claim.run_id}/stop")
        assert (again.status_code, again.json()["status"]) == (200, "canceled")


async def test_a_run_shows_what_it_has_written(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada") as api:
        await api.group.say()
        claim = await api.group.claim()
        await checkpoint_run(api.group.runtime, claim, "Once")
        shown = (await api.client.get(f"/runs/{claim.run_id}")).json()
        assert (shown["status"], shown["text"], shown["finished_at"]) == ("running", "Once", None)
        assert shown["started_at"] >= shown["created_at"]
        assert (await api.turns())["run"] == shown
        assert refusal(await api.client.get(f"/runs/{uuid4()}")) == (404, "not_found")


async def test_runs_come_in_pages_the_newest_first(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        for _ in range(2):
            await api.group.say()
            await api.group.speak_all()
        made = [str(run.id) for run in reversed(await api.group.runs())]
        first = (await api.client.get(f"{api.path}/runs", params={"limit": 3})).json()
        rest = (await api.client.get(f"{api.path}/runs", params={"after": first["next"]})).json()
        assert ([run["id"] for run in first["items"]], [run["id"] for run in rest["items"]]) == (made[:3], made[3:])
        assert rest["next"] is None
        assert refusal(await api.client.get(f"{api.path}/runs", params={"after": "x"})) == (422, "invalid")


async def test_the_queue_is_chosen_by_hand(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo", "Cy", reply_order="manual") as api:
        ada, bo, cy = (api.id(name) for name in ("Ada", "Bo", "Cy"))
        assert refusal(await api.put("round", {"round_id": None, "member_ids": []})) == (409, "conflict")
        begun = await api.put("round", {"round_id": None, "member_ids": [cy, ada, cy]})
        assert (begun.status_code, begun.json()["run"]["speaker_id"]) == (200, cy)
        assert begun.json()["round"]["slots"][0]["reason"]["cause"] == "chosen"
        changed = {"round_id": begun.json()["round"]["id"], "member_ids": [bo]}
        assert (await api.put("round", changed)).status_code == 200
        assert await api.queue() == [("Cy", "pending"), ("Bo", "pending")]
        assert await api.group.speak_all() == ["Cy", "Bo"]


async def test_who_saw_another_round_is_told_how_it_is_now(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        await api.group.say()
        for seen in (None, str(uuid4())):
            refused = await api.put("round", {"round_id": seen, "member_ids": [api.id("Bo")]})
            assert refusal(refused) == (409, "stale")
            assert refused.json()["error"]["current"] == await api.turns()
        assert await api.queue() == [("Ada", "pending"), ("Bo", "pending")]


async def test_the_queue_holds_only_those_who_can_speak_and_not_too_many(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada") as api:
        for stranger in (api.id("Owner"), str(uuid4())):
            refused = await api.put("round", {"round_id": None, "member_ids": [stranger]})
            assert refusal(refused) == (404, "not_found")
        full = await api.put("round", {"round_id": None, "member_ids": [api.id("Ada")] * 101})
        assert refusal(full) == (422, "invalid")
        assert refusal(await api.put("round", {"member_ids": []})) == (422, "invalid")


async def test_a_round_is_paused_behind_the_reply_that_is_written(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        for action in ("pause", "resume", "skip", "stop"):
            assert refusal(await api.post(f"round/{action}")) == (409, "conflict")
        await api.group.say()
        claim = await api.group.claim()
        paused = (await api.post("round/pause")).json()
        assert (paused["state"], paused["round"]["scheduling_state"]) == ("generating", "paused")
        assert refusal(await api.post("round/resume")) == (409, "conflict")
        await cancel_run(api.group.runtime, claim, "")
        assert (await api.turns())["state"] == "paused"
        assert (await api.post("round/resume")).json()["run"]["speaker_id"] == api.id("Ada")


async def test_characters_go_on_by_themselves(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo", auto_mode_delay_ms=0) as api:
        on = await api.put("auto-mode", {"rounds": 2})
        assert (on.status_code, on.json()["auto_mode_remaining_rounds"]) == (200, 2)
        assert (on.json()["run"]["kind"], on.json()["round"]["by"]) == ("auto_mode", "automation")
        assert await api.group.speak_all() == ["Ada", "Bo"] * 2
        assert (await api.turns())["auto_mode_remaining_rounds"] is None
        for rounds in (-1, 11):
            assert refusal(await api.put("auto-mode", {"rounds": rounds})) == (422, "invalid")


async def test_one_character_does_not_go_on_by_itself(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada") as api:
        assert refusal(await api.put("auto-mode", {"rounds": 1})) == (409, "conflict")
        assert (await api.put("auto-mode", {"rounds": 0})).status_code == 200


async def test_a_model_writes_on_for_a_person(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", auto_mode_delay_ms=0) as api:
        on = await api.put("copilot", {"steps": 1})
        assert (on.status_code, on.json()["state"]) == (200, "generating")
        assert refusal(await api.post("messages", {"content": "Hm."})) == (403, "copilot_blocked")
        assert (await api.put("copilot", {"steps": 0})).status_code == 200
        await api.post("round/stop")
        assert (await api.post("messages", {"content": "Hm."})).status_code == 201
        for steps in (-1, 11):
            assert refusal(await api.put("copilot", {"steps": steps})) == (422, "invalid")


@pytest.mark.parametrize("ending", ["discard", "stop"])
async def test_who_ends_a_round_ends_what_goes_on_by_itself(sqlite_url: str, tmp_path: Path, ending: str) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo", auto_mode_delay_ms=0) as api:
        for what, body in (("auto-mode", {"rounds": 3}), ("copilot", {"steps": 3})):
            run = (await api.put(what, body)).json()["run"]["id"]
            await api.client.post(f"/runs/{run}/stop")
            ended = await (api.post("round/stop") if ending == "stop" else api.client.post(f"/runs/{run}/discard"))
            assert ended.status_code == 200
            turns = await api.turns()
            assert (turns["state"], turns["run"], turns["auto_mode_remaining_rounds"]) == ("idle", None, None)
        assert (await api.group.member("Owner")).copilot_mode == "none"


async def test_in_an_archived_conversation_nothing_is_begun(sqlite_url: str, tmp_path: Path) -> None:
    async with group_api(sqlite_url, tmp_path, "Ada", "Bo") as api:
        await api.group.say()
        failed = await api.fail("Well, I")
        archived = {"settings_version": 0, "archived": True}
        assert (await api.client.patch(api.path, json=archived)).status_code == 200
        actions = ["generate", "continue", "impersonate", "regenerate", "retry"]
        actions += [f"round/{action}" for action in ("pause", "resume", "skip", "stop")]
        for action in actions:
            answer = await api.client.post(f"{api.path}/{action}")
            assert (action, *refusal(answer)) == (action, 409, "conflict")
        bodies: dict[str, Any] = {
            "round": {"round_id": None, "member_ids": [api.id("Ada")]},
            "auto-mode": {"rounds": 1},
            "copilot": {"steps": 1},
        }
        for what, body in bodies.items():
            assert (what, *refusal(await api.put(what, body))) == (what, 409, "conflict")
        assert refusal(await api.client.post(f"/runs/{failed}/keep")) == (409, "conflict")
        assert (await api.turns())["state"] == "failed"
