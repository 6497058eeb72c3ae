"""Predictions of a saved model for the verbs that answer."""
