cp films.db lab.db
