"""One example at a time, node by node, on the functions as they are written: what a model means."""
