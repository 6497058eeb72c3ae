"""Files into records, tokens on disk, records into batches."""
