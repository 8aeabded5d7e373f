CREATE TABLE people (person_id text PRIMARY KEY, full_name text, nicknames text[], born integer);
CREATE TABLE companies (company_id text PRIMARY KEY, name text, kind text, city text);
CREATE TABLE jobs (person_id text, company_id text, since integer);
INSERT INTO people VALUES ('p1', 'Ada Lovelace', ARRAY['Countess of Lovelace'], 1815);
INSERT INTO companies VALUES ('c1', 'Analytical Engines', 'Maker', 'London');
INSERT INTO jobs VALUES ('p1', 'c1', 1833);
