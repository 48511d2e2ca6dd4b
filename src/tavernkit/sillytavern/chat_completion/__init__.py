"""Chat completion: a preset's prompts, the chat and the examples become the messages of a request."""
