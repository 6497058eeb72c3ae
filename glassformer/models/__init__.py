"""Arrangement: parts become stacks, stacks become the three kinds of Transformer."""
