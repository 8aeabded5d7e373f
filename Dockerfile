# `bfsql serve` over HTTP, with every backend. The graph and the tokens are mounted:
#
#   bfsql token alice                      # prints a token, and its line for tokens.txt
#   docker build --tag bfsql .
#   docker run --publish 8000:8000 --volume ./films.db:/graph/films.db:ro \
#       --volume ./tokens.txt:/run/secrets/tokens:ro bfsql --path /graph/films.db \
#       --allowed-hosts graph.example.org
FROM python:3.13-slim AS build
# Other packages and extras: --build-arg PACKAGES="/src/bfsql-core[metrics] /src/bfsql-sqlite"
ARG PACKAGES="/src/bfsql-core[duckdb,metrics,otel,parquet,rdf,xlsx,zst] /src/bfsql-sqlite \
/src/bfsql-postgres /src/bfsql-federation /src/bfsql-sparql /src/bfsql-neo4j[fast] \
/src/bfsql-gremlin[aws] /src/bfsql-jsonld[http2]"
COPY packages /src
RUN python -m venv /opt/bfsql \
    && set -f && /opt/bfsql/bin/pip install --no-cache-dir $PACKAGES

FROM python:3.13-slim
COPY --from=build /opt/bfsql /opt/bfsql
RUN useradd --system --uid 10001 --no-create-home bfsql
USER 10001
WORKDIR /graph
ENV PATH=/opt/bfsql/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    BFSQL_HOST=0.0.0.0 \
    BFSQL_ADMIN_PORT=9000 \
    BFSQL_LOG_LEVEL=info \
    BFSQL_LOG_FORMAT=json
EXPOSE 8000 9000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9000/livez', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["bfsql", "serve", "--transport", "http", "--bearer-tokens", "/run/secrets/tokens"]
