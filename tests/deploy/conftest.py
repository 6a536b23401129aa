"""Deployments are tested on the databases of the storage tests."""

from storage.conftest import empty_url, postgres, postgres_url, redis_server, redis_url, url

__all__ = ["empty_url", "postgres", "postgres_url", "redis_server", "redis_url", "url"]
