"""Finding what was written: messages, stories, characters, lorebooks, presets and personas."""
