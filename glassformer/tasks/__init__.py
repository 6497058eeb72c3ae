"""What can be learned: one protocol, one small file per task, and the guesses a score has to beat."""
