"""Importing whole folders of other applications, and exporting everything as one."""
