"""Traces: each number named, explained by its formula, verified."""
