"""Translation on real data: ours against transformers' MarianMTModel, for the same minutes, on the same pairs."""
