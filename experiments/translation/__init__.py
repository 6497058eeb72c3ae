"""Translation on real data: ours beside transformers' MarianMTModel, for the same minutes, on the same pairs."""
