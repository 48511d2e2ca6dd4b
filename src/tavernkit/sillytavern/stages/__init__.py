"""The stages that chat and text completion share: inputs, and lore with the note and persona around it."""

from tavernkit.sillytavern.stages.inputs import hooks
from tavernkit.sillytavern.stages.lore import lore

__all__ = ["hooks", "lore"]
