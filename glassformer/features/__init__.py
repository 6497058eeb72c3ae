"""Hidden states as vectors of texts and words; search in them."""
