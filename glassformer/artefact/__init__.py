"""What is saved, what `load` and `train` give back, and the verbs people use."""
