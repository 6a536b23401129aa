"""`src.dashboard_server` of the guide: `uvicorn src.dashboard_server:app` serves what `hms serve` does.

Settings come from the environment, `.env` or `config.yaml`; address and port are uvicorn's.
"""

from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.logs import configure_logging
from hybrid_scheduler.settings import load_settings

__all__ = ["app"]

settings = load_settings()
configure_logging(settings)
app = create_app(settings)
