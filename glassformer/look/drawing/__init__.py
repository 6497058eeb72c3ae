"""Traces as lines of text and as small static tables."""
