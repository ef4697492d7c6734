// The purpose of each route of the admin API, and the meaning of its own fields. The key `body` stands for a whole body.

export type RouteWords = readonly [about: string, fields?: Readonly<Record<string, string>>];

/** Parameters that mean the same on every route. The head of the page explains them. */
export const COMMON_PARAMETERS: readonly string[] = ["cursor", "limit", "dryRun", "wait", "unknownNames"];

const OVERLAP = { overlapSeconds: "the seconds for which the old key still works; default: 86,400" };
const RESOURCE_URI = { uri: "the URI of the resource" };
const DIGESTS = { digests: "digests of waiting definitions, from `pending`" };
const NOTE = { note: "the reason, which callers see" };
const REQUEST_ID = { requestId: "only errors of this request" };

export const ROUTE_WORDS: Readonly<Record<string, RouteWords>> = {
  "GET /tenants": ["lists tenants by id; a `tenant-admin` sees only their own tenants"],
  "POST /tenants": [
    "creates a tenant; 409 if the id is taken",
    {
      id: "the id in the tenant's URL, 1 to 40 characters (a-z, 0-9, hyphen)",
      document: "the [tenant document](document.md)",
      region: "a hint for the place of the tenant's Durable Objects",
      jurisdiction: "where its Durable Objects [must be](keys-and-profiles.md#where-a-tenant-is-kept)",
    },
  ],
  "GET /tenants/{id}": ["returns a tenant, with its URL, state and documents"],
  "DELETE /tenants/{id}": [
    "deletes a tenant with all its data; you may repeat it",
    { created: "the tenant's `created`; 412 if a newer tenant has this id" },
  ],
  "GET /tenants/{id}/document": ["returns the tenant's own document; the `ETag` is its revision"],
  "PUT /tenants/{id}/document": [
    "replaces the document, and returns the changes",
    { body: "the whole [tenant document](document.md)" },
  ],
  "GET /tenants/{id}/prompts": ["lists the prompts of the document by name"],
  "GET /tenants/{id}/prompts/{name}": ["returns a prompt; the `ETag` is the document's revision"],
  "PUT /tenants/{id}/prompts/{name}": [
    "creates or replaces a prompt of the document",
    { body: "a [prompt](document.md#prompts)" },
  ],
  "DELETE /tenants/{id}/prompts/{name}": ["removes a prompt from the document"],
  "GET /tenants/{id}/limits": ["returns each limit with its value, its source and its use"],
  "PUT /tenants/{id}/limits/{name}": [
    "sets a [limit](limits.md) in the document",
    { value: "a value that the [limit allows](document.md#limits)" },
  ],
  "DELETE /tenants/{id}/limits/{name}": ["removes a limit from the document"],
  "GET /tenants/{id}/upstreams": ["lists upstreams by id, with their states"],
  "GET /tenants/{id}/upstreams/{upstream}": ["returns an upstream, with the definitions that are left out"],
  "PUT /tenants/{id}/upstreams/{upstream}": [
    "creates or replaces an upstream of the document",
    { body: "an [upstream](document.md#upstreams)" },
  ],
  "DELETE /tenants/{id}/upstreams/{upstream}": ["removes an upstream from the document"],
  "POST /tenants/{id}/upstreams/{upstream}/test": ["connects to the upstream and returns its lists; stores nothing"],
  "POST /tenants/{id}/upstreams/{upstream}/refresh": ["reads the upstream now, and stores its lists"],
  "GET /tenants/{id}/upstreams/{upstream}/pending": ["lists definitions that wait for approval, with their changes"],
  "POST /tenants/{id}/upstreams/{upstream}/approve": ["approves all of these definitions, or none (409)", DIGESTS],
  "POST /tenants/{id}/upstreams/{upstream}/reject": ["rejects all of these definitions, or none (409)", DIGESTS],
  "GET /tenants/{id}/resources": ["lists stored resources by URI", { prefix: "only URIs that begin with this text" }],
  "GET /tenants/{id}/resources/content": ["returns the body of a resource, with its `ETag`", RESOURCE_URI],
  "PUT /tenants/{id}/resources/content": [
    "creates a resource (201), or replaces its body and its fields",
    {
      ...RESOURCE_URI,
      name: "the name; default: the last part of the URI",
      title: "the title for people",
      description: "the description for people and models",
      tag: "a tag; to set several tags, repeat the parameter",
      audience: "the readers; to set both, repeat the parameter",
      priority: "the importance",
      lastModified: "when the content last changed; default: now",
      binary: "whether the body is binary; by default, `Content-Type` and the content decide",
      body: "the content; `Content-Type` becomes its media type",
    },
  ],
  "DELETE /tenants/{id}/resources/content": ["deletes a resource", RESOURCE_URI],
  "GET /tenants/{id}/keys": ["lists API keys, the oldest first, without the keys themselves"],
  "POST /tenants/{id}/keys": [
    "creates a key; its `token` is only in this answer",
    {
      name: "a name for people",
      scopes: "names of entries in the document's `scopes`; default: no limit",
      profile: "the only profile that the key opens; default: all profiles",
      expires: "when the key stops working; default: never",
    },
  ],
  "POST /tenants/{id}/keys/self/rotate": [
    "replaces the key in `Authorization`; 409 if the key is younger than a day",
    OVERLAP,
  ],
  "POST /tenants/{id}/keys/{key}/rotate": ["replaces a key; the new `token` is only in this answer", OVERLAP],
  "DELETE /tenants/{id}/keys/{key}": ["revokes a key; the answer comes once the key no longer works anywhere"],
  "GET /tenants/{id}/backup": ["returns key hashes, suspensions and encrypted secrets"],
  "PUT /tenants/{id}/backup": [
    "adds the rows that the tenant does not have",
    { body: "`keys`, `suspensions` and `secrets` of a backup" },
  ],
  "GET /tenants/{id}/grants": [
    "lists grants; a grant is the access that a person gave to a client",
    { principal: "only grants of this principal" },
  ],
  "DELETE /tenants/{id}/grants/{grant}": ["ends a grant; the answer comes once its tokens no longer work anywhere"],
  "GET /tenants/{id}/login-clients": ["lists the OAuth clients of the tenant"],
  "DELETE /tenants/{id}/login-clients/{client}": ["removes an OAuth client, and ends its grants"],
  "GET /tenants/{id}/secrets": ["lists names of secrets; no route returns a value"],
  "PUT /tenants/{id}/secrets/{name}": [
    "sets a secret; the answer comes once no tool can get the old value any more",
    { value: "the value, at most 8,192 bytes" },
  ],
  "DELETE /tenants/{id}/secrets/{name}": [
    "deletes a secret; the answer comes once no tool can get the secret any more",
  ],
  "GET /tenants/{id}/suspensions": ["lists the tenant's suspensions, and the blocks for all tenants"],
  "POST /tenants/{id}/suspensions": [
    "suspends the target; 202 if the tenant's object has not confirmed this yet",
    {
      kind: "the kind of the target; only operators can suspend a `tenant`",
      name: "the name of the target; absent for a `tenant`",
      ...NOTE,
    },
  ],
  "DELETE /tenants/{id}/suspensions/{kind}": ["ends the suspension of a tenant; `{kind}` is `tenant`"],
  "DELETE /tenants/{id}/suspensions/{kind}/{name}": ["ends the suspension of a profile, a principal or a tool"],
  "GET /tenants/{id}/explain": [
    "says whether a caller sees a definition, and why",
    {
      kind: "the kind of the definition",
      name: "the name in code or in a list; for a resource, its URI",
      profile: "the profile in the caller's URL",
      key: "the id of the caller's key; default: no key",
      user: "a user of your app, as JSON from [`authenticate`](api-identity.md)",
    },
  ],
  "GET /tenants/{id}/export": ["returns the document, and a line for each resource"],
  "GET /audit": ["lists the platform's audit log, the newest entry first"],
  "GET /tenants/{id}/audit": ["lists a tenant's audit log, the newest entry first"],
  "GET /tenants/{id}/usage": ["returns the number of resources, bytes, keys and suspensions"],
  "GET /tenants/{id}/usage/calls": [
    "returns [usage](usage.md) by hour or day; needs `usage()`",
    {
      by: "the time that each row covers; default: `hour`",
      from: "the start; default: the oldest row",
      to: "the end; default: the newest row",
      open: "whether to include rows that still change; default: `false`",
    },
  ],
  "GET /tenants/{id}/calls": [
    "returns [recorded calls](audit.md), oldest first; needs `callAudit()`",
    {
      after: "only calls after this sequence number",
      last: "only this many of the newest calls",
    },
  ],
  "GET /errors": ["lists [errors](telemetry.md#errors) of all tenants, the newest first", REQUEST_ID],
  "GET /tenants/{id}/errors": ["lists errors of a tenant; a `tenant-admin` gets no stack traces", REQUEST_ID],
  "GET /metrics": ["returns the [counters and gauges](metrics.md) of one isolate"],
  "GET /tenants/{id}/webhooks": ["lists [webhooks](webhooks.md), each with its number of waiting messages"],
  "POST /tenants/{id}/webhooks/{webhook}/test": ["sends a test message, and returns the result"],
  "GET /bases": ["lists base documents by name"],
  "GET /bases/{name}": ["returns a base document; the `ETag` is its revision"],
  "PUT /bases/{name}": [
    "creates (201) or replaces a base document; changes no tenant yet",
    { body: "a [base document](operators.md#bases)" },
  ],
  "POST /bases/{name}/rollout": [
    "delivers the base document to the tenants that extend it",
    { dryRun: "with `true`, the rollout collects the changes, but changes no tenant" },
  ],
  "DELETE /bases/{name}": ["deletes a base document; 409 if a tenant extends it"],
  "GET /rollouts": ["lists rollouts, the newest first"],
  "GET /rollouts/{version}": ["returns the progress of a rollout"],
  "POST /rollouts/{version}/stop": ["stops the rollout of a base document"],
  "GET /tools/blocked": ["lists the tools that are blocked in all tenants"],
  "POST /tools/{name}/block": ["starts to block a tool in all tenants; a tool of an upstream is `ID__tool`", NOTE],
  "DELETE /tools/{name}/block": ["starts to end a block"],
  "GET /operators": ["lists operators by name"],
  "POST /operators": [
    "creates an operator; the `token` is only in this answer",
    {
      name: "the name in the audit log",
      role: "the [role](operators.md#roles)",
      tenants: "the tenants of a `tenant-admin`; required for this role",
      expires: "when the token stops working; default: never",
    },
  ],
  "DELETE /operators/{name}": ["removes an operator; the token stops working at once"],
};
