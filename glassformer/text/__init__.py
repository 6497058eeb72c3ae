"""Tokenizers: learned, loaded, saved; text to tokens and back."""
