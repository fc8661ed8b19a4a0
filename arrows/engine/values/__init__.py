"""What goes into a model and what comes out: tensor leaves, paths into an example, results."""
