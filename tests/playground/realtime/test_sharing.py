"""What many ask for at the same time is done once, and nobody gets what was done before they asked."""

import asyncio

import pytest

from tavernkit.playground.base.realtime.sharing import SharedWork

pytestmark = pytest.mark.anyio


class Library:
    """Readings that last until they are allowed to end; each tells its number."""

    def __init__(self) -> None:
        self.shared = SharedWork()
        self.begun = 0
        self.allowed = asyncio.Event()
        self.fails = False

    async def read(self) -> int:
        self.begun += 1
        number = self.begun
        await self.allowed.wait()
        if self.fails:
            raise OSError("the shelf is on fire")
        return number

    def ask(self, key: str = "a") -> "asyncio.Future[int]":
        return asyncio.ensure_future(self.shared.do(key, self.read))


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_asks_together_shares_one_reading() -> None:
    library = Library()
    asking = [library.ask() for _ in range(100)]
    await settled()
    library.allowed.set()
    assert await asyncio.gather(*asking) == [1] * 100


async def test_who_asks_after_it_began_gets_the_next_one() -> None:
    library = Library()
    first = library.ask()
    await settled()
    late = [library.ask() for _ in range(10)]
    await settled()
    assert library.begun == 1
    library.allowed.set()
    assert await first == 1
    assert await asyncio.gather(*late) == [2] * 10


async def test_different_things_are_read_side_by_side() -> None:
    library = Library()
    asking = [library.ask("a"), library.ask("b")]
    await settled()
    assert library.begun == 2
    library.allowed.set()
    assert await asyncio.gather(*asking) == [1, 2]


@pytest.mark.parametrize("leaver", [0, 1])
async def test_who_leaves_takes_nobody_along(leaver: int) -> None:
    library = Library()
    asking = [library.ask(), library.ask()]
    await settled()
    asking[leaver].cancel()
    await settled()
    library.allowed.set()
    assert await asking[1 - leaver] == 1
    assert asking[leaver].cancelled()


async def test_a_failure_is_told_to_those_who_shared_it_and_to_nobody_else() -> None:
    library = Library()
    asking = [library.ask(), library.ask()]
    await settled()
    library.fails = True
    library.allowed.set()
    assert [type(error) for error in await asyncio.gather(*asking, return_exceptions=True)] == [OSError, OSError]
    library.fails = False
    assert await library.ask() == 2


async def test_a_failure_that_nobody_waits_for_any_more_is_quiet() -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    library = Library()
    asking = library.ask()
    await settled()
    asking.cancel()
    library.fails = True
    library.allowed.set()
    await settled()
    del asking
    assert await asyncio.gather(library.ask(), return_exceptions=True) != []
    assert complaints == []
