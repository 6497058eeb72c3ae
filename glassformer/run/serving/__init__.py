"""Answers over HTTP, and the limits of every server."""
