"""A run of a model with all its tensors, explained, verified and changed by hand."""
