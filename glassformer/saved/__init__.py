"""What is saved, what `load` and `train` return, and the verbs on it."""
