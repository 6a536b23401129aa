"""Load and soak: the real server for minutes at full speed, while its database and its Redis come and go."""
