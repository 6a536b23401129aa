"""The doctor looks at a machine and says what is missing and how to get it."""
