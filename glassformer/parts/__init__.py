"""Tensor code only: attention, masks, norms, positions, dropout."""
