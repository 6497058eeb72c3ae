"""One loop for greedy search, sampling and beams."""
