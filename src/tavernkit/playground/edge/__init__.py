"""What the outside sees: pages, the JSON API, live events, the OpenAI-style endpoint."""
