"""Hypothesis without deadlines: the machine may be busy, and time is measured in benchmarks."""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=100, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("TAVERNKIT_HYPOTHESIS", "default"))
