"""The difference between NumPy and CuPy, and the strict fake: arrays, memory, transfer."""
