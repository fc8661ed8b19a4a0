"""Benchmarks: `python -m benchmarks NAME`.

Each reports the medians of interleaved runs, and describes the machine that they ran on.
"""
