"""Once a model: writes the function that reads an example; its sites and the flow between them."""
