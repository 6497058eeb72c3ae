"""What masked words, next sentence and sentence order teach in equal time: X-14 of docs/claims.md, and N-11."""
