"""`python -m tavernkit.cli`."""

from tavernkit.cli import main

main()
