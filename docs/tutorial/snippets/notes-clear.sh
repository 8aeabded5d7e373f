cd bfsql-notes
rm example.json src/bfsql_notes/loader.py tests/test_files.py
