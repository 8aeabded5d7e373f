grep -A 8 nodes.samples lab.toml
