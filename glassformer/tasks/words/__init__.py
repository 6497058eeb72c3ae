"""Tasks on masked words and the order of sentences: an encoder reads running text."""
