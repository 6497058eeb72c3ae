"""The models that travel in the package: their recipes, and how they get there."""
