"""Typed blocks for neural networks on trees, records and sequences, batched dynamically on NumPy and CUDA."""
