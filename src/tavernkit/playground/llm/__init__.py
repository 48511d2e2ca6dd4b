"""Model clients: OpenAI-style endpoints, Anthropic, Gemini, the model that comes along, and a scripted one."""
