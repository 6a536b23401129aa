"""Running tasks for real: the policies of the simulation place work on local processes or on a Ray cluster."""
