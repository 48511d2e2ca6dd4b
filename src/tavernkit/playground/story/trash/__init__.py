"""The trash: what was deleted, until it is restored or goes for good."""
