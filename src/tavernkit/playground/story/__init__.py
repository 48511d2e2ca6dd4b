"""What the product knows: services, queries and documents, noun by noun. Nothing of the web."""
