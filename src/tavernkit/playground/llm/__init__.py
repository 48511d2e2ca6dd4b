"""Model clients: OpenAI-style endpoints, the model that comes along, and a scripted one for tests."""
