"""From files to batches: reading, splitting, storing tokens, rows, their order, masks and sentence pairs."""
