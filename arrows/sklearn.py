"""Estimators of scikit-learn made of blocks."""
