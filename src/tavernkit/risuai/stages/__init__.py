"""The stages of a RisuAI build, in the order in which they run."""

from tavernkit.risuai.stages.assembly import card_costs, template_assembly
from tavernkit.risuai.stages.chat import chat
from tavernkit.risuai.stages.injection import injection
from tavernkit.risuai.stages.inputs import hooks
from tavernkit.risuai.stages.lore import lore
from tavernkit.risuai.stages.memory import memory
from tavernkit.risuai.stages.parts import parts, run_variables
from tavernkit.risuai.stages.request import plan_assembly, request
from tavernkit.risuai.stages.trimming import trimming

__all__ = [
    "card_costs",
    "chat",
    "hooks",
    "injection",
    "lore",
    "memory",
    "parts",
    "plan_assembly",
    "request",
    "run_variables",
    "template_assembly",
    "trimming",
]
