CREATE ROLE bfsql_reader LOGIN PASSWORD 'put-a-long-random-text-here';
GRANT CONNECT ON DATABASE graphs TO bfsql_reader;
GRANT USAGE ON SCHEMA public TO bfsql_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO bfsql_reader;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO bfsql_reader;
