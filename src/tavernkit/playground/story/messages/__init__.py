"""Messages: sending, editing, swipes."""
