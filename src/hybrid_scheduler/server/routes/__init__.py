"""The REST endpoints, one file per group; the app includes every router that it finds here."""
