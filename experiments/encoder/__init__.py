"""The encoder's tasks on real data: ours against transformers' Trainer, from the same start, on the same splits."""
