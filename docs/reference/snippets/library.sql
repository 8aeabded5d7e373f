CREATE TABLE authors (id serial PRIMARY KEY, name text);
CREATE TABLE books (id serial PRIMARY KEY, title text);
CREATE TABLE wrote (author_id integer, book_id integer);
INSERT INTO authors (name) VALUES ('Ursula K. Le Guin');
INSERT INTO books (title) VALUES ('The Dispossessed');
INSERT INTO wrote VALUES (1, 1);
CREATE INDEX ON wrote (author_id, book_id);
CREATE INDEX ON wrote (book_id);
