"""Extensions: packages that add to TavernKit, found by their entry points or named in a setting, and loaded at start.

An extension is a module that registers load hooks while it is imported. These are the scopes, and what hooks are given:

    sillytavern.macros          by version ("1.15", "1.19"), a MacroDefinitions: .register(name, handler, …)
    risuai.cbs                  Functions: .register(name, function, aliases=…)
    tavernkit.dialects          Dialects: .register(name, dialect, …)
    tavernkit.token_estimators  ModelTokenEstimator: .register(glob of model names, estimator)
    tavernkit.build_hooks       BuildHooks: .before_build(hook), .before_trimming(hook), .after_build(hook)
    tavernkit.importers         Importers: .characters, .lorebooks and .chats, each .register(name, recognises, read)
    tavernkit.pipeline_steps    StepKinds: .register(subclass of Step)
    tavernkit.step_functions    StepFunctions: .register(name, function)
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeAlias

from tavernkit.errors import ExtensionError
from tavernkit.values import Value

GROUP = "tavernkit.extensions"

_PACKAGE = Path(__file__).parent
_loaded: dict[str, Extension] = {}


class Extension(Value, frozen=True, kw_only=True):
    """An extension that is loaded. `package` is who brought it, with its version, or empty for a module that was named;
    `registered` are the names of what it has added, by kind."""

    name: str
    module: str
    package: str
    registered: Mapping[str, tuple[str, ...]]


def load_extensions(modules: Iterable[str] = ()) -> tuple[Extension, ...]:
    """Load every extension that is installed, by name, and then these modules; ExtensionError at the first that fails.

    What a module has registered when it was imported earlier is not found again.
    """
    found = [*sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)), *map(_named, modules)]
    if not found:
        return ()
    wanted: dict[str, EntryPoint] = {}
    for entry in found:
        wanted.setdefault(entry.module, entry)
    registries = _registries()
    loaded = tuple(_load(entry, registries) for entry in wanted.values())
    _loaded.update((extension.module, extension) for extension in loaded)
    return loaded


def loaded_extensions() -> tuple[str, ...]:
    """The extensions of this process by name, each with the package that brought it, if any, and its version."""
    return tuple(f"{one.name} ({one.package})" if one.package else one.name for one in _loaded.values())


def _named(module: str) -> EntryPoint:
    if not all(part.isidentifier() for part in module.split(".")):
        raise ExtensionError(f"{module!r} is not the name of a module.")
    return EntryPoint(name=module, value=module, group=GROUP)


def _load(entry: EntryPoint, registries: _Registries) -> Extension:
    before = {kind: entries() for kind, entries in registries.items()}
    try:
        entry.load()
    except (Exception, SystemExit) as error:
        raise ExtensionError(
            f"The extension {entry.name!r}{_origin(entry)} cannot be loaded: {type(error).__name__}: "
            f"{str(error).rstrip('.')}{_place(error)}. "
            "Correct it, uninstall it, or take it out of the setting that names it."
        ) from error
    return Extension(
        name=entry.name,
        module=entry.module,
        package=_package(entry),
        registered={
            kind: tuple(name for name, value in entries().items() if before[kind].get(name) is not value)
            for kind, entries in registries.items()
        },
    )


def _package(entry: EntryPoint) -> str:
    return "" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _origin(entry: EntryPoint) -> str:
    package = _package(entry)
    return f" of {package}" if package else ""


def _place(error: BaseException) -> str:
    """Where in the extension it went wrong, as far as it was the extension."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_file() and not file.is_relative_to(_PACKAGE) and "importlib" not in file.parts:
            return f" ({file.name}, line {frame.lineno})"
    return ""


_Registries: TypeAlias = Mapping[str, Callable[[], Mapping[str, object]]]


def _registries() -> _Registries:
    """By kind of what extensions add, how to see what is there now. All of it is loaded by then, so that hooks run as
    they are registered, and one that fails does so in its own extension."""
    # Only who has extensions pays for importing all that they may add to.
    from tavernkit.artifacts.pipelines import STEP_FUNCTIONS, StepFunctions
    from tavernkit.artifacts.pipelines.step import step_kinds
    from tavernkit.dialects.registry import names, registered
    from tavernkit.hooks import shared_hooks
    from tavernkit.importers import shared_importers
    from tavernkit.load_hooks import run_load_hooks
    from tavernkit.prompt.tokens import default_estimator
    from tavernkit.risuai.cbs.engine import shared_functions
    from tavernkit.sillytavern.macros.engine import shared_registries

    macros, hooks, importers = shared_registries(), shared_hooks(), shared_importers()
    functions, estimator, kinds, step_functions = shared_functions(), default_estimator(), step_kinds(), StepFunctions()
    # An application has step functions of its own, and runs their hooks again.
    run_load_hooks(STEP_FUNCTIONS, step_functions)
    return {
        "macros": lambda: {macro.name: macro for registry in macros.values() for macro in registry},
        "functions": lambda: dict(functions.table),
        "dialects": lambda: {name: registered(name) for name in names()},
        "estimators": lambda: dict(estimator.estimators),
        "hooks": lambda: {f"{moment} {_name(hook)}": hook for moment, hook in hooks},
        "importers": lambda: {
            f"{kind} {importer.name}": importer for kind, table in vars(importers).items() for importer in table
        },
        "steps": lambda: dict(kinds),
        "step_functions": lambda: {name: step_functions.get(name) for name in step_functions},
    }


def _name(hook: Callable[..., object]) -> str:
    named = hook if hasattr(hook, "__qualname__") else type(hook)
    return f"{named.__module__}.{named.__qualname__}"
