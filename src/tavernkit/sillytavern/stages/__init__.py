"""The stages that chat and text completion share: inputs, lore with the note and persona around it, the last hooks."""

from tavernkit.sillytavern.stages.finishing import after_hooks
from tavernkit.sillytavern.stages.inputs import hooks
from tavernkit.sillytavern.stages.lore import lore

__all__ = ["after_hooks", "hooks", "lore"]
