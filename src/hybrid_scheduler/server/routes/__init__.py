"""The REST endpoints, one file per group."""

from hybrid_scheduler.server.routes import comparison, control, experiments, runs, service, tasks, workloads

ROUTERS = (
    control.router,
    comparison.router,
    tasks.router,
    runs.router,
    runs.history,
    experiments.router,
    workloads.router,
    service.router,
    service.models_router,
)
