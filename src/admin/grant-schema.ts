// Grants that people gave to clients, and those clients. contract.ts exports the schemas that clients of this API may
// import.

import * as z from "zod";
import { NullableText, object, Timestamp } from "./schema-parts.ts";

/**
 * The access that a person granted to a client. `deny`: tools that the person excluded. `allow`: only these tools,
 * and none added later. `toolsOnly`: no prompts and no resources.
 */
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

/**
 * `document`: the client's id is the URL of its metadata. `registered`: the client registered, under a name of its
 * own choice.
 */
export const LoginClientShape = object({
  id: z.string(),
  kind: z.enum(["registered", "document"]),
  name: z.string(),
  redirects: z.array(z.string()),
  lastUsed: Timestamp,
});
