"""Writing on real books: ours against a GPT-2 of transformers, an LSTM and a trigram, on a book that none has read."""
