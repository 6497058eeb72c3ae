"""Estimators for scikit-learn: features, a classifier and a tagger that read raw texts."""
