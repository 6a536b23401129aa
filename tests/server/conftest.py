"""The service is tested on the databases of the storage tests."""

from storage.conftest import postgres, postgres_url, redis_server, redis_url, store, url

__all__ = ["postgres", "postgres_url", "redis_server", "redis_url", "store", "url"]
