"""What a page says of a run, as JSON by name."""
