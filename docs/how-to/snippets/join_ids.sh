bfsql load diseases.ttl --path diseases.db > report.txt
bfsql search-entities diseases.db parkinson
