"""The live service: REST and WebSocket around one simulation (`create_app`)."""
