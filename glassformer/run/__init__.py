"""From a recipe to a saved model; evaluate, compare, export, serve."""
