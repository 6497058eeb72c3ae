"""Tensor code only: what a Transformer computes with."""
