"""The encoder's tasks on real data: ours beside transformers' Trainer, from the same start, on the same splits."""
