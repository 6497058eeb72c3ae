"""What is measured over a whole run: heads, lens, rollout, gradients, ties."""
