"""Load hooks: wiring that happens once, whichever side is loaded first.

A library says `on_load("my_app", register_my_macros)`; the application, when its infrastructure stands, says
`run_load_hooks("my_app", infrastructure)`. Hooks registered later run at once. A hook that fails raises: wiring is a
programmer's concern. The scopes of TavernKit itself are listed in `tavernkit.extensions`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Any, Generic, TypeAlias, TypeVar, overload

from tavernkit.errors import LoadHookError

LoadHook: TypeAlias = Callable[[Any], None]
Hook = TypeVar("Hook", bound=LoadHook)
Payload = TypeVar("Payload")


class LoadHooks:
    """Hooks by scope. One shared instance serves the module's functions; tests make their own."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._hooks: dict[str, dict[object, LoadHook]] = {}
        self._payloads: dict[str, Any] = {}

    @overload
    def on_load(self, scope: str, hook: Hook, *, id: str | None = None) -> Hook: ...

    @overload
    def on_load(self, scope: str, *, id: str | None = None) -> Callable[[Hook], Hook]: ...

    def on_load(self, scope: str, hook: Any = None, *, id: str | None = None) -> Any:
        """Run `hook` whenever `scope` is loaded, and now if it already was; without `hook`, decorate one.

        A hook registered again under the same `id` replaces the earlier one in its place.
        """
        if hook is None:
            return partial(self.on_load, scope, id=id)
        with self._lock:
            self._hooks.setdefault(scope, {})[object() if id is None else id] = hook
            is_loaded, payload = scope in self._payloads, self._payloads.get(scope)
        if is_loaded:
            hook(payload)
        return hook

    def run(self, scope: str, payload: Any = None) -> None:
        """Load `scope`: remember the payload for later hooks and run those that are there, in order.

        If one fails, nothing is remembered: the scope is as it was before it was ever loaded.
        """
        with self._lock:
            self._payloads[scope] = payload
            hooks = tuple(self._hooks.get(scope, {}).values())
        is_complete = False
        try:
            for hook in hooks:
                hook(payload)
            is_complete = True
        finally:
            with self._lock:
                if not is_complete and self._payloads.get(scope) is payload:
                    self._payloads.pop(scope, None)


_shared = LoadHooks()
on_load = _shared.on_load
run_load_hooks = _shared.run


class LoadScope(Generic[Payload]):
    """What the hooks of a scope register in: made and given to them on first use, and to everybody else only when all
    of them have run. If one fails, every use fails with that cause."""

    def __init__(self, name: str, make: Callable[[], Payload], hooks: LoadHooks = _shared) -> None:
        self.name = name
        self._make = make
        self._hooks = hooks
        self._published: list[Payload] = []
        self._failure: Exception | None = None
        self._is_loading = False

    def __call__(self) -> Payload:
        return self._published[0] if self._published else self._load()

    def _load(self) -> Payload:
        with _loading:
            if self._published:
                return self._published[0]
            if self._is_loading:
                raise LoadHookError(
                    f"A load hook of {self.name!r} loads its own registry: use the argument of the hook instead."
                )
            if self._failure is not None:
                raise self._error(self._failure) from self._failure
            self._is_loading = True
            try:
                payload = self._make()
                self._hooks.run(self.name, payload)
            except Exception as error:
                self._failure = error
                raise self._error(error) from error
            finally:
                self._is_loading = False
            self._published.append(payload)
            return payload

    def _error(self, cause: Exception) -> LoadHookError:
        return LoadHookError(f"A load hook of {self.name!r} failed: {type(cause).__name__}: {cause}")


# One lock for all scopes, so that hooks of two scopes that use each other's cannot wait for each other.
_loading = RLock()
