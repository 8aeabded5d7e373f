bfsql search-entities "palmer" --backend sparql --prefix lib=https://example.org/library/
