"""What training keeps in files: parameters, and the whole state of a run."""
