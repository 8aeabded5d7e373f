from anyio.from_thread import start_blocking_portal

import bfsql

with (
    start_blocking_portal() as portal,
    portal.wrap_async_context_manager(bfsql.open_graph("sqlite", path="films.db")) as graph,
):
    schema = portal.call(graph.describe_schema)
    print(schema.content["entity_types"])
    answer = portal.call(graph.call, "bfs_query", {"seeds": ["nora-ephron"], "max_hops": 1})
    print(answer.content["node_count"])
