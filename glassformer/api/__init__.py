"""The Python interface: load, train, Model, Trace, estimators."""
