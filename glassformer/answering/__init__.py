"""Answers of a saved model to the verbs."""
