"""The verbs that answer."""
