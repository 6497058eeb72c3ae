"""Masked words that are annotated in the data."""
