"""Markdown and HTML of strangers, made safe."""
