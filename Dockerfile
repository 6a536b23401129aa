# syntax=docker/dockerfile:1.7
# Three stages: Node builds the dashboard, Python builds the wheel, and the last one holds neither Node nor a compiler.

FROM node:20.18.1-bookworm-slim AS dashboard
WORKDIR /build/dashboard
COPY dashboard/package.json dashboard/package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund --loglevel=error
COPY dashboard ./
RUN npm run --silent bundle -- --logLevel=warn

FROM python:3.11.11-slim-bookworm AS wheel
WORKDIR /build
RUN pip install --no-cache-dir hatchling==1.33.0
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
COPY --from=dashboard /build/src/hybrid_scheduler/web src/hybrid_scheduler/web
RUN python -m hatchling build -t wheel -d /wheels

FROM python:3.11.11-slim-bookworm AS runtime
# torch for CPUs: the simulated GPUs need no real one, and CUDA would add gigabytes. Set it to "" for PyPI's build.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
COPY constraints.txt /tmp/constraints.txt
COPY --from=wheel /wheels /tmp/wheels
RUN wheel="$(echo /tmp/wheels/*.whl)" \
    && pip install --no-cache-dir ${TORCH_INDEX:+"--extra-index-url=${TORCH_INDEX}"} -c /tmp/constraints.txt "${wheel}[postgres,redis,rl]" \
    && rm -rf /tmp/wheels /tmp/constraints.txt \
    && groupadd --system --gid 10001 hms \
    && useradd --system --uid 10001 --gid hms --home-dir /data --no-create-home hms \
    && install -d -o hms -g hms /data /cache
# Everything that is ever written goes to these two places, so the root file system can be read-only.
ENV DATA_DIR=/data \
    HMS_CACHE_DIR=/cache \
    MPLCONFIGDIR=/cache/matplotlib \
    LOG_FILE=none \
    HOST=0.0.0.0 \
    PORT=8000 \
    ENVIRONMENT=production
WORKDIR /data
VOLUME ["/data", "/cache"]
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
# A server whose database is away answers 503: alive, but not healthy. The first start trains the learners, once.
HEALTHCHECK --interval=10s --timeout=5s --start-period=600s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/api/health', timeout=4)"]
ENTRYPOINT ["hms"]
CMD ["serve"]
