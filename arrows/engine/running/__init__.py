"""Executes a batch, forward and backward, and traces errors back to their example."""
