"""Errors, numbers as text, files written whole, strict settings."""
