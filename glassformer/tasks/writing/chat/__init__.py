"""Replies to the turns of a conversation."""
