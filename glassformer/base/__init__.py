"""Errors, text of numbers, files written whole, settings: what all other rooms use."""
