"""Texts through a saved model: traces, replies, search trees, the importance of heads."""
