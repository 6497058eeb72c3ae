"""From token rows to batches."""
