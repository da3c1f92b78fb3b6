# Three images: `agent` has every role except the pipeline, `cloud` adds the logins of Amazon MSK (IAM), Azure and Google
# Cloud, and `pipeline` adds these logins, Spark and Java to the first:
#
#   docker build -t kafka-rebalance-agent .
#   docker build -t kafka-rebalance-agent-cloud --target cloud .
#   docker build -t kafka-rebalance-agent-pipeline --target pipeline .
#
# For a package mirror, or a proxy with its own certificate authority, pass two secrets to the build; the images do not
# contain them: --secret id=pip.conf,src=/etc/pip.conf --secret id=ca.pem,src=ca.pem

ARG PYTHON=docker.io/library/python:3.11-slim

# -- build stages, which the images do not contain -------------------------------------------------------------------

FROM ${PYTHON} AS tools
# pip and jgo use the system's certificate authorities.
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

FROM agent-packages AS cloud-packages
COPY requirements/cloud.lock requirements/
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.pem,target=/etc/ssl/certs/ca-certificates.crt \
    /tools/bin/pip --python /opt/rebalance-agent/bin/python install --quiet \
      --require-hashes --no-deps --only-binary :all: --requirement requirements/cloud.lock

FROM tools AS pipeline-packages
COPY requirements/pipeline.lock requirements/
# pyspark is a source package. It is built with the locked tools above, because build isolation downloads unlocked
# packages.
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.pem,target=/etc/ssl/certs/ca-certificates.crt \
    /tools/bin/pip wheel --quiet --require-hashes --no-deps --no-build-isolation --only-binary :all: --no-binary pyspark \
      --wheel-dir /packages --requirement requirements/pipeline.lock && \
    python3 -m venv --without-pip /opt/rebalance-agent && \
    /tools/bin/pip --python /opt/rebalance-agent/bin/python install --quiet --no-index --no-deps /packages/*.whl && \
    rm -rf /packages
COPY --from=wheel /wheel /wheel
ENV REBALANCE_AGENT_CACHE=/opt/rebalance-agent/cache
# Spark's Kafka source, Delta, the library of MSK's login, and the script that starts Java: otherwise each run would
# download or write them.
RUN --mount=type=secret,id=ca.pem,target=/etc/ssl/certs/ca-certificates.crt \
    /tools/bin/pip --python /opt/rebalance-agent/bin/python install --quiet --no-index --no-deps /wheel/*.whl && \
    /opt/rebalance-agent/bin/rebalance-agent pipeline jars --login aws-msk-iam >/dev/null && \
    /opt/rebalance-agent/bin/python -c 'from rebalance_agent.pipeline.spark.spark_java import find_java_home; find_java_home()'

# -- runtime images --------------------------------------------------------------------------------------------------

FROM ${PYTHON} AS runtime
# Remove pip (of the base image and of Debian) and ensurepip: nothing installs packages at runtime.
RUN find / -xdev \( -path '*/python3*/pip' -o -path '*/python3*/pip-*' -o -path '*/python3*/setuptools*' \
      -o -path '*/python3*/wheel*' -o -path '*/python3*/ensurepip' -o -path '*/python-wheels' \
      -o -path '*/bin/pip*' \) -prune -exec rm -rf {} + && \
    groupadd --gid 65532 nonroot && \
    useradd --uid 65532 --gid nonroot --no-create-home --home-dir /tmp --shell /usr/sbin/nologin nonroot
# The official base image has no bytecode of the standard library, and the user cannot write any: without this, each
# start would compile the library and take nearly twice as long.
RUN python3 -m compileall -q -x '/(idlelib|lib2to3|site-packages|tests?|turtledemo)/' \
      "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
ENV HOME=/tmp \
    PATH=/opt/rebalance-agent/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# Arguments that change with each build are last, so the layers above stay cached.
ARG REVISION=unknown
ARG VERSION=0.1.0
LABEL org.opencontainers.image.description="Shows what Kafka consumer-group rebalances cost, and why they happen" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.title="kafka-rebalance-agent" \
      org.opencontainers.image.version="${VERSION}"
USER 65532:65532
# The root may be read-only. Only the pipeline writes, to this folder: mount a volume.
WORKDIR /tmp
ENTRYPOINT ["rebalance-agent"]

FROM runtime AS pipeline
COPY --from=pipeline-packages /opt/rebalance-agent /opt/rebalance-agent
ENV REBALANCE_AGENT_CACHE=/opt/rebalance-agent/cache
CMD ["pipeline", "--help"]

FROM runtime AS listening
EXPOSE 29308 29309
# 0.0.0.0, because loopback is not reachable from outside the container. --idle: the image also starts without settings.
CMD ["observe", "--idle", "--listen", "0.0.0.0:29308"]

FROM listening AS cloud
COPY --from=cloud-packages /opt/rebalance-agent /opt/rebalance-agent

FROM listening AS agent
COPY --from=agent-packages /opt/rebalance-agent /opt/rebalance-agent
