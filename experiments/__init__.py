"""Measured experiments: each row of a results table is its own resumable command that writes one JSON file."""
