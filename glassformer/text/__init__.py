"""Text to tokens and back: training, loading and saving tokenizers."""
