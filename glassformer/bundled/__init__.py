"""Models, recipes and texts that are part of the package."""
