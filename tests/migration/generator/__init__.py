"""What folders of SillyTavern are made of, one module per noun."""
