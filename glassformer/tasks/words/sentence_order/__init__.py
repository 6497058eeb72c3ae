"""Whether a sentence follows another."""
