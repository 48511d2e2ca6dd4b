"""Runs and rounds: who speaks next, and every change of a run."""
