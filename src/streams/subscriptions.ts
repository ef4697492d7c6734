// Owns which resources a 2025 session subscribed to, as its object stores them.

export const MAX_SUBSCRIPTIONS = 1000;

export type Subscription = readonly [uri: string, asked: string];

export interface Subscriptions {
  all(): readonly Subscription[];
  /** `asked` is how the client wrote it. false: there are as many as there may be. */
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
        "INSERT OR REPLACE INTO subscriptions (uri, asked) SELECT ?, ? WHERE (SELECT count(*) FROM subscriptions WHERE uri <> ?) < ?",
        uri,
        asked,
        uri,
        MAX_SUBSCRIPTIONS,
      );
      return sql.exec("SELECT 1 FROM subscriptions WHERE uri = ?", uri).toArray().length > 0;
    },
    remove: (uri) => {
      sql.exec("DELETE FROM subscriptions WHERE uri = ?", uri);
    },
  };
}
