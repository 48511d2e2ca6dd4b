"""The OpenAI-style endpoint: characters as models."""
