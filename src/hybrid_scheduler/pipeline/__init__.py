"""The pipeline: profile, generate, train, schedule and evaluate, each with a record of what it was made from."""
