"""Writing replies: the worker, the executor, and what people decide about a reply."""
