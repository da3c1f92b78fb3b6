# Two images. `agent` has every role but the pipeline, `pipeline` has Spark and a Java besides:
#
#   docker build -t kafka-rebalance-agent .
#   docker build -t kafka-rebalance-agent-pipeline --target pipeline .
#
# Where packages come from a mirror, or through a proxy with an authority of its own, two secrets tell the build, and
# stay out of the images: --secret id=pip.conf,src=/etc/pip.conf --secret id=ca.pem,src=ca.pem

ARG PYTHON=docker.io/library/python:3.11-slim

# -- what builds: stays behind --------------------------------------------------------------------------------------

FROM ${PYTHON} AS tools
# pip and jgo trust whom the system trusts.
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore \
    REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt
WORKDIR /source
COPY requirements/build.lock requirements/
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.pem,target=/etc/ssl/certs/ca-certificates.crt \
    python3 -m venv /tools && \
    /tools/bin/pip install --quiet --require-hashes --no-deps --only-binary :all: --requirement requirements/build.lock

FROM tools AS wheel
COPY LICENSE README.md pyproject.toml ./
COPY agent agent
RUN /tools/bin/pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir /wheel .

FROM tools AS agent-packages
COPY requirements/agent.lock requirements/
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.pem,target=/etc/ssl/certs/ca-certificates.crt \
    python3 -m venv --without-pip /opt/rebalance-agent && \
    /tools/bin/pip --python /opt/rebalance-agent/bin/python install --quiet \
      --require-hashes --no-deps --only-binary :all: --requirement requirements/agent.lock
COPY --from=wheel /wheel /wheel
RUN /tools/bin/pip --python /opt/rebalance-agent/bin/python install --quiet --no-index --no-deps /wheel/*.whl

FROM tools AS pipeline-packages
COPY requirements/pipeline.lock requirements/
# pyspark comes as source, and is built with the tools above: what isolated builds download, nobody has locked.
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.pem,target=/etc/ssl/certs/ca-certificates.crt \
    /tools/bin/pip wheel --quiet --require-hashes --no-deps --no-build-isolation --only-binary :all: --no-binary pyspark \
      --wheel-dir /packages --requirement requirements/pipeline.lock && \
    python3 -m venv --without-pip /opt/rebalance-agent && \
    /tools/bin/pip --python /opt/rebalance-agent/bin/python install --quiet --no-index --no-deps /packages/*.whl && \
    rm -rf /packages
COPY --from=wheel /wheel /wheel
ENV REBALANCE_AGENT_CACHE=/opt/rebalance-agent/cache
# Spark's Kafka source, Delta and the script that starts Java: all that a run would else fetch or write at its start.
RUN --mount=type=secret,id=ca.pem,target=/etc/ssl/certs/ca-certificates.crt \
    /tools/bin/pip --python /opt/rebalance-agent/bin/python install --quiet --no-index --no-deps /wheel/*.whl && \
    /opt/rebalance-agent/bin/rebalance-agent pipeline jars >/dev/null && \
    /opt/rebalance-agent/bin/python -c 'from rebalance_agent.pipeline.spark.spark_java import find_java_home; find_java_home()'

# -- what runs ------------------------------------------------------------------------------------------------------

FROM ${PYTHON} AS runtime
# Nothing installs packages here: neither the base's pip (or Debian's own) nor the copy that makes new ones.
RUN find / -xdev \( -path '*/python3*/pip' -o -path '*/python3*/pip-*' -o -path '*/python3*/setuptools*' \
      -o -path '*/python3*/wheel*' -o -path '*/python3*/ensurepip' -o -path '*/python-wheels' \
      -o -path '*/bin/pip*' \) -prune -exec rm -rf {} + && \
    groupadd --gid 65532 nonroot && \
    useradd --uid 65532 --gid nonroot --no-create-home --home-dir /tmp --shell /usr/sbin/nologin nonroot
# The official base has none of its library's bytecode, and its user may not write any: each start would compile the library
# again, and take nearly twice as long.
RUN python3 -m compileall -q -x '/(idlelib|lib2to3|site-packages|tests?|turtledemo)/' \
      "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
ENV HOME=/tmp \
    PATH=/opt/rebalance-agent/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# What differs from build to build comes last, so that the layers above stay the same.
ARG REVISION=unknown
ARG VERSION=0.1.0
LABEL org.opencontainers.image.description="Shows what Kafka consumer-group rebalances cost, and why they happen" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.title="kafka-rebalance-agent" \
      org.opencontainers.image.version="${VERSION}"
USER 65532:65532
# The root may be read-only. Only the pipeline writes, here: give it a volume.
WORKDIR /tmp
ENTRYPOINT ["rebalance-agent"]

FROM runtime AS pipeline
COPY --from=pipeline-packages /opt/rebalance-agent /opt/rebalance-agent
ENV REBALANCE_AGENT_CACHE=/opt/rebalance-agent/cache
CMD ["pipeline", "--help"]

FROM runtime AS agent
COPY --from=agent-packages /opt/rebalance-agent /opt/rebalance-agent
EXPOSE 29308 29309
# A container has no other loopback, and one without settings shows that the image works.
CMD ["observe", "--idle", "--listen", "0.0.0.0:29308"]
