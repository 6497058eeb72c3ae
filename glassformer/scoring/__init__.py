"""Scores with intervals, calibration, baselines. Knows no task."""
