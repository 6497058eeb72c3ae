"""Models: parts are arranged into stacks, stacks into the three kinds of Transformer."""
