"""Evaluation of models: nested cross-validation with stored, resumable tasks, and ranking of models."""
