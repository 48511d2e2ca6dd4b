"""The stages of a RisuAI build."""
