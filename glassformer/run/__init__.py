"""Training, evaluating, comparing and exporting, from a recipe to a saved model."""
