"""SillyTavern's macros."""
