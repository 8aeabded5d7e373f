mkdir -p cloned && cd cloned
echo 'instructions = "Always answer in French."' > bfsql.toml
bfsql describe-schema ../films.db 2>&1 || echo "exit code $?"
