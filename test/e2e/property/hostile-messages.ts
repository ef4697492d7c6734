// Messages of both eras with params that are right as often as not, and the same with one member spoilt.

import * as fc from "fast-check";
import { REVISIONS_2025, type Json } from "../../support/mcp-client.ts";
import { write } from "../../support/raw-http.ts";
import { INHERITED, odd, oddObject, oddText, oneIn } from "./hostile-values.ts";

export const REVISIONS = [...REVISIONS_2025, "2026-07-28"];
const META_2026 = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, sampling: {}, roots: {} },
};
const URIS = [
  "lab://notes/animals/otter",
  "lab://images/dot",
  "lab://square/12",
  "lab://broken/x",
  "lab://asks",
  "lab://nothing",
  "LAB://notes/plants/caf%c3%a9%20rose",
];
const METHODS = [
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "resources/subscribe",
  "tasks/get",
  "notifications/initialized",
  "notifications/cancelled",
  "roots/list",
  "",
];

const junkUri = (text: string) => `lab://junk/${text}`;

/** Params that are right for the method as often as not. */
const paramsOf = new Map<string, fc.Arbitrary<Json>>(
  Object.entries({
    "tools/call": toolCalls(),
    "resources/read": fc.record({
      uri: fc.oneof(fc.constantFrom(...URIS), oddText.map(junkUri), odd),
    }),
    "prompts/get": fc.record({
      name: fc.constantFrom("lab_letter", "lab_stamp", ...INHERITED),
      arguments: fc.oneof(fc.record({ key: oddText }), odd),
    }),
    "completion/complete": fc.record({
      ref: fc.oneof(
        fc.constantFrom(
          { type: "ref/prompt", name: "lab_letter" },
          { type: "ref/resource", uri: "lab://notes/{folder}/{id}" },
          { type: "ref/resource", uri: "lab://square/{number}" },
        ),
        odd,
      ),
      argument: fc.oneof(
        fc.record({ name: fc.constantFrom("flower", "folder", "id", "number", ...INHERITED), value: oddText }),
        odd,
      ),
      context: fc.oneof(fc.record({ arguments: oddObject }), odd),
    }),
    initialize: fc.record({
      protocolVersion: fc.oneof(fc.constantFrom(...REVISIONS, "1.0"), odd),
      capabilities: odd,
      clientInfo: odd,
    }) as fc.Arbitrary<Json>,
    "logging/setLevel": fc.record({ level: fc.oneof(fc.constantFrom("debug", "emergency"), odd) }),
  }),
);
const listParams = fc.oneof(
  fc.constant({}),
  fc.record({
    cursor: fc.oneof(fc.constantFrom("tools~0A0", "resources~0Acode 0", "resources~0Astored lab:", "stored~0A"), odd),
  }),
);

/** By tool; a call takes those of its own tool as often as those of any. */
function toolCalls(): fc.Arbitrary<Json> {
  const key = fc.record({ key: oddText });
  // Never one that a proper request reads: it must stay.
  const uri = fc.oneof(
    oddText.map(junkUri),
    fc.nat({ max: 200 }).map((at) => junkUri(String(at))),
  );
  const texts = { name: oddText, text: oddText, title: oddText, tags: fc.array(oddText, { maxLength: 3 }) };
  const count = fc.oneof(fc.integer({ min: -2, max: 12 }), odd);
  const kind = fc.constantFrom("form", "url", "sampling", "roots", "tools");
  const byTool: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    lab_echo: odd,
    lab_strict: fc.record({ text: oddText, count, mode: fc.constantFrom("fast", "no") }, { requiredKeys: ["text"] }),
    lab_write: fc.record({ uri, ...texts }, { requiredKeys: ["uri"] }),
    lab_delete: fc.record({ uri }),
    lab_list: fc.record({ prefix: fc.oneof(fc.constantFrom("lab://", ""), oddText) }),
    lab_steps: fc.record({ steps: fc.integer({ min: 0, max: 5 }) }),
    lab_rounds: key,
    lab_pay: key,
    lab_pay_first: key,
    lab_price: key,
    lab_ask: fc.record({ kind }),
    lab_order: fc.constant({}),
    lab_polite: fc.constant({}),
    search: fc.record({ query: oddText }),
    fetch: fc.record({ id: fc.oneof(uri, fc.constantFrom(...URIS), oddText) }),
  };
  const calls = Object.entries(byTool).map(([name, args]) => fc.record({ name: fc.constant(name), arguments: args }));
  const mixed = fc.record({
    name: fc.constantFrom(...Object.keys(byTool), ...INHERITED),
    arguments: fc.oneof(...Object.values(byTool)),
  });
  return fc.oneof({ weight: 3, arbitrary: fc.oneof(...calls) }, { weight: 1, arbitrary: mixed });
}

const continuation = fc.record({
  requestState: oneIn(
    15,
    fc.oneof(
      oddText,
      oddText.map((text) => `k.${text}`),
      odd,
    ),
  ),
  inputResponses: oneIn(
    30,
    fc.oneof(
      fc.record(
        {
          first: odd,
          sure: fc.constant({ action: "accept", content: { yes: true } }),
          form: odd,
          order: odd,
          colour: odd,
          roots: odd,
        },
        { requiredKeys: [] },
      ),
      odd,
    ),
  ),
});

export interface Message {
  readonly revision: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** A message in the form of its revision, with params that may be odd. */
export const message: fc.Arbitrary<Message> = fc
  .record({
    revision: fc.constantFrom(...REVISIONS, "2026-07-28", "2026-07-28", "2026-07-28"),
    method: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...METHODS) },
      { weight: 3, arbitrary: fc.constant("tools/call") },
      { weight: 1, arbitrary: oddText },
    ),
    id: fc.oneof(fc.integer(), fc.string({ maxLength: 10 }), fc.constantFrom(0, -1, "", 2 ** 53)),
    notifies: oneIn(5, fc.constantFrom("notifications/initialized", "notifications/cancelled", "tools/call")),
    token: oneIn(30, fc.oneof(fc.integer(), oddText)),
    more: continuation,
  })
  .chain(({ revision, method, id, notifies, token, more }) =>
    (paramsOf.get(method) ?? listParams).map((params) => {
      const asked = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined));
      const _meta = {
        ...(token === undefined ? {} : { progressToken: token }),
        ...(revision === "2026-07-28" ? META_2026 : {}),
      };
      const { headers, body } = write(revision, method, { ...params, ...asked, _meta }, id);
      // HTTP carries no other characters: such a method cannot be mirrored.
      const mirrored = headers["mcp-method"]?.replaceAll(/[^\x21-\x7e]/g, "?");
      const sent = mirrored === undefined ? headers : { ...headers, "mcp-method": mirrored };
      if (notifies === undefined) return { revision, headers: sent, body };
      return { revision, headers: sent, body: { jsonrpc: "2.0", method: notifies, params: body.params } };
    }),
  );

/** Replaces, removes or adds one member of the message, of params, or of _meta. */
export const spoilt: fc.Arbitrary<Message> = fc
  .record({
    message,
    member: fc.constantFrom("jsonrpc", "id", "method", "params", "result", "error", "extra", ...INHERITED),
    where: fc.constantFrom("message", "message", "params", "_meta"),
    value: fc.option(odd, { nil: undefined }),
    inside: fc.constantFrom(
      "name",
      "uri",
      "arguments",
      "cursor",
      "ref",
      "_meta",
      ...INHERITED,
      ...Object.keys(META_2026),
      "io.modelcontextprotocol/logLevel",
      "io.modelcontextprotocol/clientInfo",
      "progressToken",
    ),
  })
  .map(({ message: { body, ...rest }, member, where, value, inside }) => {
    if (where === "message") return { ...rest, body: withMember(body, member, value) };
    const params = (body.params ?? {}) as Json;
    if (where === "params") return { ...rest, body: { ...body, params: withMember(params, inside, value) } };
    const _meta = withMember((params._meta ?? {}) as Json, inside, value);
    return { ...rest, body: { ...body, params: { ...params, _meta } } };
  });

function withMember(object: Json, key: string, value: unknown): Json {
  const { [key]: _old, ...others } = object;
  // Defined, not assigned: `__proto__` becomes a member.
  if (value !== undefined) Object.defineProperty(others, key, { value, enumerable: true, configurable: true });
  return others;
}
