pip install -e "./bfsql-notes[test]"
pytest -q bfsql-notes
