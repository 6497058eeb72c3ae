"""One loop that trains any task, and everything that keeps a run from being lost."""
