"""The shapes of requests and answers: what the API promises, and what the dashboard's types are made from."""
