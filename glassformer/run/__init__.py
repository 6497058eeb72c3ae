"""From a recipe to a saved model; evaluating, comparing, exporting."""
