// For tests that compare two responses whole, because no header may tell a secret.

type HeaderRecord = Record<string, string | string[] | undefined>;

/** Headers that differ between two equal responses. A new header of this kind is added here, and to no test. */
const PER_RESPONSE = ["date", "connection", "keep-alive"];

export function comparableHeaders(headers: Headers | Readonly<HeaderRecord>): HeaderRecord {
  const all: HeaderRecord =
    headers instanceof Headers
      ? { ...Object.fromEntries(headers), "set-cookie": headers.getSetCookie() }
      : { ...headers };
  for (const name of PER_RESPONSE) delete all[name];
  return all;
}
