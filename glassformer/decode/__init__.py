"""Decoding: one loop for greedy search, sampling and beams."""
