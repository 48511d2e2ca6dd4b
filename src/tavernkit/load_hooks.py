"""Load hooks: wiring that happens once, whichever side is loaded first.

A library says `on_load("my_app", register_my_macros)`; the application, when its infrastructure stands, says
`run_load_hooks("my_app", infrastructure)`. Hooks registered later run at once. A hook that fails raises: wiring is a
programmer's concern.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, TypeAlias

LoadHook: TypeAlias = Callable[[Any], None]


class LoadHooks:
    """Hooks by scope. One shared instance serves the module's functions; tests make their own."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._hooks: dict[str, dict[object, LoadHook]] = {}
        self._payloads: dict[str, Any] = {}

    def on_load(self, scope: str, hook: LoadHook, *, id: str | None = None) -> None:
        """Run `hook` whenever `scope` is loaded, and now if it already was.

        A hook registered again under the same `id` replaces the earlier one in its place.
        """
        with self._lock:
            self._hooks.setdefault(scope, {})[object() if id is None else id] = hook
            is_loaded, payload = scope in self._payloads, self._payloads.get(scope)
        if is_loaded:
            hook(payload)

    def run(self, scope: str, payload: Any = None) -> None:
        """Load `scope`: remember the payload for later hooks and run those that are there, in order."""
        with self._lock:
            self._payloads[scope] = payload
            hooks = tuple(self._hooks.get(scope, {}).values())
        for hook in hooks:
            hook(payload)


_shared = LoadHooks()
on_load = _shared.on_load
run_load_hooks = _shared.run
