"""What people hold in Python: load, train, Model, Trace, estimators."""
