"""One of several candidates for a text."""
