"""Scores with intervals, calibration, cross-entropy and baselines. Knows no task."""
