export BFSQL_DEADLINE=20
bfsql config --transport http | grep -E "transport|max_tokens|deadline|path"
