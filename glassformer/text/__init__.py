"""Text to tokens and back: tokenizers are trained, loaded and saved, and give offsets."""
