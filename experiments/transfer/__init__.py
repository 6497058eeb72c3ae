"""Freezing, full tuning, adapters and students on the same rows: X-12 of docs/measured/claims.md."""
