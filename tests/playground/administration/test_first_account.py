"""Where others can reach the server, the first account is made with a code that only its log has."""

from pathlib import Path

import httpx2
import pytest

from tavernkit.playground.base.config import AppConfig
from tests.playground.accounts.installation import PASSWORD, open_installation
from tests.playground.support.server import ServerProcess, running

CODE = "abcde-fghjk"
FORM = {"name": "Olga", "email": "", "password": PASSWORD}
ANYWHERE = "0.0.0.0"  # noqa: S104 - what it means is the point


@pytest.mark.anyio
async def test_the_code_makes_the_first_account_and_nothing_else_lets_anybody_in(
    database_url: str, tmp_path: Path
) -> None:
    async with open_installation(database_url, tmp_path, host=ANYWHERE) as installation:
        installation.runtime.setup_code = CODE
        browser = installation.stranger()
        led = await browser.get("/")
        assert (await browser.get(led.headers["location"])).headers["location"] == "/setup"
        wrong = await browser.post("/setup", data={**FORM, "code": "zzzzz"})
        assert (wrong.status_code, "This setup code is wrong" in wrong.text) == (422, True)
        assert (await browser.get("/api/v1/me")).status_code == 401
        made = await browser.post("/setup", data={**FORM, "code": CODE.upper()})
        assert (made.status_code, made.headers["location"]) == (303, "/")
        me = (await browser.get("/api/v1/me")).json()
        assert (me["name"], me["role"], me["id"]) == ("Olga", "administrator", str(installation.play.user_id))
        assert (await browser.get("/setup")).headers["location"] == "/sign-in"


@pytest.mark.anyio
async def test_a_second_process_with_its_own_code_makes_no_second_first_account(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with open_installation(sqlite_url, tmp_path, host=ANYWHERE) as installation:
        await installation.owner_with_password()
        installation.runtime.setup_code = CODE
        late = await installation.stranger().post("/setup", data={**FORM, "name": "Eve", "code": CODE})
        assert (late.status_code, "exists already" in late.text) == (409, True)
        assert (await installation.stranger().get("/sign-in")).status_code == 200


def test_the_server_writes_the_code_where_it_was_started(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, model_url="http://127.0.0.1:9/v1", worker="none", host=ANYWHERE)
    with running(server):
        log = server.log.read_text()
        assert "create yours with this setup code: " in log
        code = log.partition("setup code: ")[2].split()[0]
        with httpx2.Client(base_url=server.url, headers={"Origin": server.url}, trust_env=False, timeout=60) as client:
            assert client.get("/").headers["location"].startswith("/sign-in")
            assert client.post("/setup", data={**FORM, "code": code}).status_code == 303
            assert client.get("/api/v1/me").json()["name"] == "Olga"


@pytest.mark.parametrize("setting", [{"trusted_proxies": "10.0.0.1"}, {"hostnames": "tavern.example"}])
def test_a_server_behind_a_proxy_or_with_a_name_is_there_for_others(setting: dict[str, str]) -> None:
    assert AppConfig().is_local
    assert not AppConfig(**setting).is_local
