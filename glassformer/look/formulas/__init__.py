"""A second statement of the Transformer: what every tensor is computed from, and by which rule."""
