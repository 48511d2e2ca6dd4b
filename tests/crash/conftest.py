"""What the tests of crashes share."""

from tests.crash.stages import mortal_postgres, together, two_apart

__all__ = ["mortal_postgres", "together", "two_apart"]
