bfsql load routes.dat --path routes.db --columns airline,,source,,target,
