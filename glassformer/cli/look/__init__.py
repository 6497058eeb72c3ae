"""The commands that look inside."""
