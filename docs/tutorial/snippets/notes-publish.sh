pip wheel --no-deps --wheel-dir dist ./bfsql-notes
pip install --force-reinstall --no-deps dist/bfsql_notes-*.whl
bfsql backends
