"""Links with which anybody reads one conversation, without an account."""
