"""From documents to tokenized stores on disk, and their split."""
