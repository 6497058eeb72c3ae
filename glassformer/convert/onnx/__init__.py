"""Encoders as ONNX graphs, and such graphs as models that run here."""
