"""Features: the hidden states of a model as vectors of texts and words, in files, and for other people's tools."""
