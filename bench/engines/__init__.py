"""Answering in bulk: a row for each file but those that all of them share."""

LENGTHS = (128, 256, 512, 1024, 2048, 4096)
"""Tokens of the texts in the rows of `lengths.py`."""
