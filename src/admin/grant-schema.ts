// Owns the shapes of what people let clients do, and of those clients. Refuses logic; what clients of this API may import is
// exported by contract.ts.

import * as z from "zod";
import { NullableText, object, Timestamp } from "./schema-parts.ts";

/** What a person let a client do. `deny`: the tools that they left out; `allow`: only these, and none that come later; `toolsOnly`: no prompts and resources. */
export const GrantShape = object({
  id: z.string(),
  client: object({ id: z.string(), name: z.string() }),
  principal: z.string(),
  person: object({ name: NullableText, email: NullableText }),
  url: z.string(),
  profile: NullableText,
  scopes: z.nullable(z.array(z.string())),
  deny: z.array(z.string()),
  allow: z.nullable(z.array(z.string())),
  toolsOnly: z.boolean(),
  created: Timestamp,
  lastUsed: Timestamp,
  expires: Timestamp,
});

/** `document`: its id is the URL of its metadata; else it registered, under a name of its choice. */
export const LoginClientShape = object({
  id: z.string(),
  kind: z.enum(["registered", "document"]),
  name: z.string(),
  redirects: z.array(z.string()),
  lastUsed: Timestamp,
});
