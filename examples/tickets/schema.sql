CREATE TABLE companies (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  tools TEXT, -- JSON: the names of the tools that it has; NULL: all
  due_in_days INTEGER NOT NULL DEFAULT 14
);
CREATE TABLE tickets (
  id INTEGER PRIMARY KEY,
  company TEXT NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'open',
  due TEXT
);
CREATE TABLE history (ticket INTEGER NOT NULL, what TEXT NOT NULL, who TEXT NOT NULL);
INSERT INTO companies (id, title, tools) VALUES ('acme', 'Acme', NULL), ('globex', 'Globex', '["list_tickets"]');
INSERT INTO tickets (id, company, title, state, due) VALUES
  (7, 'acme', 'The printer is on fire', 'open', '2026-11-20'),
  (8, 'acme', 'No coffee', 'open', NULL),
  (9, 'globex', 'A secret of Globex', 'open', NULL);
