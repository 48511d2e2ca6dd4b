"""Model clients: OpenAI-style endpoints, Anthropic, Gemini, the embedded model, a scripted one."""
