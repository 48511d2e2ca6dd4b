"""An installation with several people in it: an application in this process, and browsers and programs that use it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import update

from tavernkit.playground.base.accounts.sessions import open_session
from tavernkit.playground.base.accounts.viewer import Role, Viewer, Visit
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.passwords import Passwords
from tavernkit.playground.edge.app import create_app
from tavernkit.playground.edge.web.authentication import COOKIE
from tests.playground.stories import Story, open_story

__all__ = ["ORIGIN", "PASSWORD", "Installation", "open_installation"]

ORIGIN = "http://127.0.0.1"
PASSWORD = "three brown owls"


QUICK_HASHER = PasswordHash((Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1),))
"""The hash of passwords, without what makes guessing them expensive."""


@cache
def password_hash() -> str:
    return QUICK_HASHER.hash(PASSWORD)


class Installation:
    """The application, and ways to be somebody in it."""

    def __init__(self, play: Story, app: Any) -> None:
        self.play = play
        self.runtime = play.runtime
        self.app = app
        self._open: list[httpx2.AsyncClient] = []

    def browser(
        self, token: str | None = None, *, address: str = "10.0.0.1", origin: str = ORIGIN
    ) -> httpx2.AsyncClient:
        """A browser that shows our own pages, signed in if it has a token."""
        cookies = {COOKIE: token} if token else {}
        return self._client(address, origin, headers={"Origin": origin}, cookies=cookies)

    def stranger(self) -> httpx2.AsyncClient:
        """A browser at an address that nobody has tried anything from."""
        return self.browser(address=f"10.9.{len(self._open)}.1")

    def program(self, key: str) -> httpx2.AsyncClient:
        """A program with a key, which does not know what an origin is."""
        return self._client("10.0.0.9", ORIGIN, headers={"Authorization": f"Bearer {key}"})

    def _client(self, address: str, origin: str, **options: Any) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(self.app, client=(address, 1))
        client = httpx2.AsyncClient(transport=transport, base_url=origin, **options)
        self._open.append(client)
        return client

    async def owner_with_password(self) -> Viewer:
        """The owner, after they have given themselves a password."""
        async with self.runtime.database.write() as session:
            change = update(User).where(User.id == self.play.user_id)
            await session.execute(change.values(name="Olga", email="olga@example.org", password_hash=password_hash()))
        return Viewer(user_id=self.play.user_id, role="administrator", via="session")

    async def add(self, name: str, role: Role = "member") -> Viewer:
        """Somebody who has an account."""
        async with self.runtime.database.write() as session:
            user = User(
                id=self.runtime.ids(),
                name=name,
                email=f"{name.lower()}@example.org",
                password_hash=password_hash(),
                role=role,
                created_at=self.runtime.clock(),
            )
            session.add(user)
        return Viewer(user_id=user.id, role=role, via="session")

    async def token(self, viewer: Viewer) -> str:
        """A session of somebody's."""
        async with self.runtime.database.write() as session:
            return (await open_session(self.runtime, session, viewer.user_id, Visit(agent="Test"))).token

    async def signed_in(self, viewer: Viewer) -> httpx2.AsyncClient:
        return self.browser(await self.token(viewer))

    async def user(self, user_id: UUID) -> User:
        async with self.runtime.database.read() as session:
            return await session.get_one(User, user_id)

    async def close(self) -> None:
        for client in self._open:
            await client.aclose()


@asynccontextmanager
async def open_installation(url: str, folder: Path, **settings: object) -> AsyncIterator[Installation]:
    """An application that nobody has a password for yet."""
    async with open_story(url, folder, ScriptedModel(), **settings) as play:
        play.runtime.passwords = Passwords(QUICK_HASHER)
        installation = Installation(play, create_app(play.runtime, play.user_id))
        try:
            yield installation
        finally:
            await installation.close()
