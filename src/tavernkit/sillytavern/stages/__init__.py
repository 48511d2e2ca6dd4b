"""The stages that chat and text completion share: inputs, and lore with the note and persona around it."""
