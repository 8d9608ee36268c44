# btr serve with its models inside: docker build -t btr . && docker run -p 127.0.0.1:8081:8081 btr
# docs/deploy.md says how to run it for others.
FROM python:3.12-slim AS base
ENV PATH=/opt/btr/bin:$PATH XDG_CACHE_HOME=/var/cache PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN useradd --uid 10001 --create-home btr && install --directory --owner=btr --group=btr /var/cache/btr

FROM base AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /build
COPY constraints.txt ./
# torch without CUDA: gigabytes less. It has a layer of its own, which stays when only btr changes.
RUN python -m venv /opt/btr \
    && pip install --no-cache-dir --constraint constraints.txt --index-url https://download.pytorch.org/whl/cpu torch
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt '.[serve]'
# As the user that serves: models are converted for CTranslate2 into that user's cache, once, and tried.
USER 10001
RUN btr fetch smollm2-135m && printf 'She have two dog.\n' | btr correct - | grep -Fx 'She has two dogs.'

FROM base
COPY --from=build /opt/btr /opt/btr
COPY --from=build --chown=btr:btr /var/cache/btr /var/cache/btr
USER 10001
WORKDIR /home/btr
ENV BTR_HOST=0.0.0.0 BTR_PORT=8081 OMP_WAIT_POLICY=passive
EXPOSE 8081
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"BTR_PORT\"]}/health', timeout=8)"]
STOPSIGNAL SIGTERM
CMD ["btr", "serve"]
