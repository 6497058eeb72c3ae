"""Masked words and next sentence together."""
