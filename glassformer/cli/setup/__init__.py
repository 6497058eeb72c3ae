"""Verbs about the installation itself."""
