"""The path through a conversation: its visible messages, each with its active swipe, and the state they lead to."""
