"""Search by meaning: an index of texts as vectors, and the texts nearest to a question."""
