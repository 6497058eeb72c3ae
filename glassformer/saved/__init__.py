"""A model on disk as one record: store, opening, recipe, weights."""
