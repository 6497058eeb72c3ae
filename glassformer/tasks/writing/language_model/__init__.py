"""Language modelling."""
