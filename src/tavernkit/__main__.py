"""`python -m tavernkit`."""

from tavernkit.cli import main

main()
