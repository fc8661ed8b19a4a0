"""Once an example: runs what lowering wrote, and gives wirings: flat arrays of numbers."""
