"""The bus between processes, and the outbox of numbered events."""
