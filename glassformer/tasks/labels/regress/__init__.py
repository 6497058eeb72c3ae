"""A number for a text or a pair."""
