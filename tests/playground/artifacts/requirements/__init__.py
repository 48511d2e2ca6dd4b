"""The numbered requirements of artifacts, where only the application shows them."""
