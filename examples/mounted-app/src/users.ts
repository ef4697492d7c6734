// Owns the users that the app had before, and telling tenantry who of them calls.

export interface User {
  readonly id: string;
  readonly name: string;
  readonly team: "red" | "blue";
  readonly isLead: boolean;
}

/** By the token that a user made in the app's settings. A real app has a database. */
const USERS: ReadonlyMap<string, User> = new Map([
  ["token-of-ann", { id: "1", name: "Ann", team: "red", isLead: true }],
  ["token-of-ben", { id: "2", name: "Ben", team: "red", isLead: false }],
  ["token-of-cem", { id: "3", name: "Cem", team: "blue", isLead: true }],
  ["token-of-dan", { id: "4", name: "Dan", team: "red", isLead: true }],
]);

export function userOf(token: string | undefined): User | undefined {
  return token === undefined ? undefined : USERS.get(token);
}

/** tenantry calls this for each request. A returned `Response` rejects the request. */
export function authenticate(request: Request) {
  const [, token] = /^Bearer (.*)$/.exec(request.headers.get("authorization") ?? "") ?? [];
  const user = userOf(token);
  if (!user) return Response.json({ error: "Make a token in the settings first" }, { status: 401 });
  return { tenant: user.team, id: user.id, name: user.name, claims: { lead: user.isLead } };
}
