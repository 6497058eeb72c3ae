"""What masked words, next sentence and sentence order teach in equal time: claim X-14, and N-11."""
