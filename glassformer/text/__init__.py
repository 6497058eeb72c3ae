"""Text to pieces and back: tokenizers are trained, loaded, saved and asked for offsets here."""
