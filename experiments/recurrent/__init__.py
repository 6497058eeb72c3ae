"""X-9: recurrent networks beside a Transformer of equal size: speed, copying over a distance, how far back is read."""
