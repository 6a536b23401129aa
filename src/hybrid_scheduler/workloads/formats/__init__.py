"""One file per trace format."""
