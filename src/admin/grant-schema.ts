// Owns the shapes of what people let clients do, and of those clients. Refuses logic; what clients of this API may import is
// exported by contract.ts.

import { FLAG, list, nullable, object, oneOf, STRING } from "./shapes.ts";

const TIME = { type: "string", format: "date-time" } as const;
const MAYBE = nullable(STRING);

/** What a person let a client do. `deny`: the tools that they left out; `allow`: only these, and none that come later; `toolsOnly`: no prompts and resources. */
export const GrantShape = object({
  id: STRING,
  client: object({ id: STRING, name: STRING }),
  principal: STRING,
  person: object({ name: MAYBE, email: MAYBE }),
  url: STRING,
  profile: MAYBE,
  scopes: nullable(list(STRING)),
  deny: list(STRING),
  allow: nullable(list(STRING)),
  toolsOnly: FLAG,
  created: TIME,
  lastUsed: TIME,
  expires: TIME,
});

/** `document`: its id is the URL of its metadata; else it registered, under a name of its choice. */
export const LoginClientShape = object({
  id: STRING,
  kind: oneOf("registered", "document"),
  name: STRING,
  redirects: list(STRING),
  lastUsed: TIME,
});
