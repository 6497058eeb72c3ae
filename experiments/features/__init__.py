"""Frozen features under a logistic regression, and search by meaning: X-13 and X-16 of docs/measured/claims.md."""
