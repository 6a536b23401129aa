"""The shapes of requests and responses, from which OpenAPI and the types of the dashboard are generated."""
