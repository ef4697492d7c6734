// White space that is left out of SQL: the same statement to SQLite, and nothing else in a program is touched.
import { DatabaseSync } from "node:sqlite";
import { parse, print } from "@swc/core";
import { expect, test } from "vitest";
import { shortenSql, shortSql } from "../../scripts/short-sql.ts";

test.each([
  ["SELECT a,\n    b FROM t WHERE a <= ? AND b IN (1, 2)", "SELECT a,b FROM t WHERE a<=? AND b IN(1,2)"],
  ["UPDATE t SET a = 'x  ( y', b = 'it''s , so'", "UPDATE t SET a='x  ( y',b='it''s , so'"],
  ["\n  DELETE FROM t\n  WHERE a = -1\n", "DELETE FROM t WHERE a=-1"],
])("%j is said in fewer characters, and what is quoted stays", (long, short) => {
  expect(shortSql(long)).toBe(short);
  expect(shortSql(short)).toBe(short);
});

test.each([
  "SELECT a -- only\n, b FROM t",
  "SELECT a /* , */ FROM t",
  'SELECT "a , b" FROM t',
  "Select the first ,  or none",
  " AND a = ?",
])("%j stays as it is", (text) => {
  expect(shortSql(text)).toBe(text);
});

test("a table with all kinds of rules is the same to SQLite", () => {
  const create = `CREATE TABLE t (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('a , b', 'c')) DEFAULT 'c',
    size INTEGER GENERATED ALWAYS AS (length(kind) + 1) STORED,
    UNIQUE (kind, size)
  ) STRICT`;
  const shapes = [create, shortSql(create)].map((sql) => {
    const db = new DatabaseSync(":memory:");
    db.exec(sql);
    db.exec("INSERT INTO t (id, kind) VALUES (1, 'a , b')");
    return [db.prepare("PRAGMA table_xinfo(t)").all(), db.prepare("SELECT * FROM t").all()];
  });
  expect(shapes[1]).toEqual(shapes[0]);
});

test("in a program, statements are shortened where nothing is put into them", async () => {
  const module = await parse("a(`SELECT 1,\n 2`, 'SELECT 1, 2', `SELECT '${b}  , 2'`, 'b , c', `b\n , c`)", {
    syntax: "ecmascript",
  });
  shortenSql(module);
  const { code } = await print(module, { minify: true });
  expect(code).toBe('a(`SELECT 1,2`,"SELECT 1,2",`SELECT \'${b}  , 2\'`,"b , c",`b\n , c`);');
});
