"""From files to batches: reading, splitting, the tokenized store, rows, order, masks and sentence pairs."""
