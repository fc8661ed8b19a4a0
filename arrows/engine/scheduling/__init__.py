"""Once a batch: from wirings to the steps that run, in an order that batches well."""
