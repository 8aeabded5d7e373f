cd bfsql-notes
rm example.json tests/test_files.py
