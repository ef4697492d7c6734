// Owns which resources a 2025 session subscribed to, as its object stores them.

export const MAX_SUBSCRIPTIONS = 1000;
/** Of all URIs of a session together, in both spellings: whoever holds its stream has them in memory. */
const MAX_CHARACTERS = 262_144;

export type Subscription = readonly [uri: string, asked: string];

export interface Subscriptions {
  all(): readonly Subscription[];
  /** `uri`: normalized; `asked`: how the client wrote it. false: the session has as many as it may. */
  add(uri: string, asked: string): boolean;
  remove(uri: string): void;
}

export function createSubscriptions(sql: SqlStorage): Subscriptions {
  return {
    all: () =>
      sql
        .exec<{ uri: string; asked: string }>("SELECT uri, asked FROM subscriptions ORDER BY uri")
        .toArray()
        .map(({ uri, asked }) => [uri, asked] as const),
    add: (uri, asked) => {
      sql.exec(
        `INSERT OR REPLACE INTO subscriptions (uri, asked) SELECT ?1, ?2 FROM
           (SELECT count(*) AS many, total(length(uri) + length(asked)) AS characters FROM subscriptions WHERE uri <> ?1)
           WHERE many < ?3 AND characters + length(?1) + length(?2) <= ?4`,
        uri,
        asked,
        MAX_SUBSCRIPTIONS,
        MAX_CHARACTERS,
      );
      return sql.exec("SELECT 1 FROM subscriptions WHERE uri = ?", uri).toArray().length > 0;
    },
    remove: (uri) => {
      sql.exec("DELETE FROM subscriptions WHERE uri = ?", uri);
    },
  };
}
