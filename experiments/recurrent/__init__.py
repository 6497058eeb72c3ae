"""X-9: recurrent networks against a Transformer of equal size: speed, copying over a distance, how far back is read."""
