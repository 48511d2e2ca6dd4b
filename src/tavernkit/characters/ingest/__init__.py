"""Readers of card files, one module to a format. `tavernkit.characters.load` is the door to them."""
