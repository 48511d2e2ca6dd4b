"""The page of the architecture lists the files that a message passes: those that a traced server really enters."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from uuid import uuid4

from tests.docs.test_map import FILE, SOURCE, WALKS
from tests.playground.support.forking import Forked, tavernkit
from tests.playground.support.server import Child, ScriptedModel, ServerProcess, running
from tests.playground.support.visitor import Visitor
from tests.support.hanging import wait_until

# What stories are made of. The web server, the frame around every request and the tools in `base` know nothing of them.
ROOMS = tuple(f"playground/{room}/" for room in ("story", "edge/pages", "edge/live", "edge/presenting", "edge/views"))
MOST_FILES = 44

[LISTED] = [FILE.findall(walk) for walk in WALKS if walk.startswith("Walk: a message")]


class TracedServer(ServerProcess):
    """A server that writes down, between two signals, the files of which a function was called."""

    def __init__(self, folder: Path, *, model_url: str) -> None:
        # Nothing is taken over meanwhile: leases last longer than the test.
        super().__init__(folder, model_url=model_url, lease_seconds="2000", heartbeat_seconds="1000")
        self._passed = folder / "passed"

    def spawn(self) -> Child:
        self._child = Forked(_traced, [str(self._passed), str(self.port)], self.whole_environment(), self.log)
        return self._child

    def begin(self) -> None:
        self._tell(signal.SIGUSR1)

    def passed(self) -> set[str]:
        self._tell(signal.SIGUSR2)
        return set(self._passed.read_text().split())

    def _tell(self, sign: signal.Signals) -> None:
        self._passed.unlink(missing_ok=True)
        self._child.send_signal(sign)
        wait_until(self._passed.exists)


def test_the_map_lists_the_files_that_a_message_passes(tmp_path: Path, scripted_model: ScriptedModel) -> None:
    with running(TracedServer(tmp_path, model_url=scripted_model.base_url)) as server, Visitor(server.url) as visitor:
        conversation = visitor.begin_story()
        with visitor.listen(conversation) as events:
            server.begin()
            visitor.send(conversation, uuid4(), "Hello there.")
            lines = events.iter_lines()
            assert any('kinds="reply"' in line for line in lines)
            passed = server.passed()
    assert passed == {file for file in LISTED if file.startswith(ROOMS)}
    assert len(passed) <= MOST_FILES


def _traced(arguments: Sequence[str]) -> None:
    target, port = Path(arguments[0]), arguments[1]
    passed: set[str] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            passed.add(frame.f_code.co_filename)

    def write() -> None:
        inside = (Path(name).relative_to(SOURCE).as_posix() for name in sorted(passed))
        whole = target.with_suffix(".whole")
        whole.write_text("\n".join(name for name in inside if name.startswith(ROOMS)))
        whole.rename(target)

    def begin(*_: object) -> None:
        passed.clear()
        write()

    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, lambda *_: write())
    threading.setprofile(look)
    sys.setprofile(look)
    tavernkit(["serve", "--port", port])
