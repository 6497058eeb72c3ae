"""Parts arranged into stacks, stacks into models; the families."""
