"""What the JSON API takes and gives, where it is not a document of the story itself."""
