"""A report of what a text does to the attention of one or two served models."""
