// Grants and clients of the fake admin API: listed, of one principal where somebody asks for one, and ended.

import type { GrantShape, Infer, LoginClientShape } from "../../src/admin/contract.ts";

export interface FakeLogins {
  readonly grants: Map<string, Infer<typeof GrantShape>>;
  readonly loginClients: Map<string, Infer<typeof LoginClientShape>>;
}

interface Asked {
  readonly method: string;
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function fakeLogins(): FakeLogins {
  return { grants: new Map(), loginClients: new Map() };
}

export function fakeLoginParts(asked: Asked, { grants, loginClients }: FakeLogins) {
  return { grants: () => partOf(asked, grants), "login-clients": () => partOf(asked, loginClients) };
}

function partOf({ method, path, query }: Asked, all: Map<string, object>) {
  if (method === "DELETE") return { json: { revision: 2, changed: all.delete(path[3] ?? ""), effectiveAt: null } };
  const principal = query.get("principal");
  return {
    json: {
      items: [...all.values()].filter(
        (one) => principal === null || ("principal" in one && one.principal === principal),
      ),
    },
  };
}
