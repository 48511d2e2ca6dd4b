"""RisuAI's triggers: small programs of a character or module that run at moments of a chat.

`run_triggers` runs those of a mode. What needs the application goes through one `TriggerHost`; without one it is
refused. Programs of strangers have a budget of steps, of text and of time.

Lua (`triggerlua`) is refused with a warning. A card's Lua is untrusted, and there is no well-kept interpreter for
Python that both shuts it in and ends it after so many instructions: lupa, the one that is well kept, has no such limit,
and its keeper advises a process of its own for that; a hook set from inside can be caught with `pcall` and does not
reach coroutines. What else there is, is young or has no limit either.
"""

from tavernkit.risuai.triggers.budget import TriggerBudget
from tavernkit.risuai.triggers.host import REFUSING, RefusedByHost, RefusingHost, TriggerHost
from tavernkit.risuai.triggers.machine import run_triggers
from tavernkit.risuai.triggers.result import SystemPrompts, TriggerMode, TriggerOutcome, TriggerResult

__all__ = [
    "REFUSING",
    "RefusedByHost",
    "RefusingHost",
    "SystemPrompts",
    "TriggerBudget",
    "TriggerHost",
    "TriggerMode",
    "TriggerOutcome",
    "TriggerResult",
    "run_triggers",
]
