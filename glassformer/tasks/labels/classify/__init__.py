"""Labels for a text or a pair."""
