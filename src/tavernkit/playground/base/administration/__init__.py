"""What administrators look after: backups, restoring them, and what takes up room."""
