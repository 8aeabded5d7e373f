CREATE ROLE analyst;
ALTER ROLE bfsql_reader NOINHERIT;
GRANT analyst TO bfsql_reader;
GRANT USAGE ON SCHEMA public TO analyst;
GRANT SELECT ON people, companies, jobs TO analyst;
ALTER TABLE people ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY old ON people TO analyst USING (born < 1900);
CREATE POLICY known ON jobs TO analyst
    USING (EXISTS (SELECT FROM people AS p WHERE p.person_id = jobs.person_id));
INSERT INTO people VALUES ('p2', 'Grace Hopper', NULL, 1906);
INSERT INTO jobs VALUES ('p2', 'c1', 1949);
