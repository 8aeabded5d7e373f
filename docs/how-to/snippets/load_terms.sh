bfsql load officials.csv terms.csv --path city.db --valid-from since --valid-until until
