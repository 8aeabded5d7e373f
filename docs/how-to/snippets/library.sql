CREATE TABLE authors (id serial PRIMARY KEY, name text);
CREATE TABLE books (id serial PRIMARY KEY, title text);
CREATE TABLE wrote (author_id integer, book_id integer);
INSERT INTO authors (name) VALUES ('Ursula K. Le Guin');
INSERT INTO books (title) VALUES ('The Dispossessed');
INSERT INTO wrote VALUES (1, 1);

CREATE VIEW author_nodes AS SELECT 'author:' || id::text AS id, name FROM authors;
CREATE VIEW book_nodes AS SELECT 'book:' || id::text AS id, title FROM books;
CREATE VIEW wrote_edges AS
    SELECT 'author:' || author_id::text AS subject, 'book:' || book_id::text AS object FROM wrote;

CREATE INDEX ON authors (('author:' || id::text));
CREATE INDEX ON books (('book:' || id::text));
CREATE INDEX ON wrote (('author:' || author_id::text));
CREATE INDEX ON wrote (('book:' || book_id::text));
