"""Once a model: operations, slabs, strata, parameters and losses."""
