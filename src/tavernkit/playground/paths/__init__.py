"""The path through a conversation: its visible messages, each told by its active swipe, and the state they leave."""
