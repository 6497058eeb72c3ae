"""The commands for vectors and search."""
