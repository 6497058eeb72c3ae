"""A corpus answered block by block, by processes that may be anywhere."""
