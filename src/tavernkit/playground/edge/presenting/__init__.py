"""From rows to what the pages show."""
