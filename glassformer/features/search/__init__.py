"""Search by meaning and by words: an index of texts, and the texts that fit a question best."""
