bfsql serve --backend sparql --preset oxigraph --prefix lib=https://example.org/library/
