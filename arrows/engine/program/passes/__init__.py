"""The passes: each takes a program and returns one that does the same, better."""
