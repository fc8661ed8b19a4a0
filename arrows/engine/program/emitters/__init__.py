"""Turns programs into code."""
