// Judges JSON-RPC messages by the official schema of their protocol revision. The schemas are taken at run time from
// two pinned development dependencies, so nothing is vendored: the official conformance runner carries the JSON Schemas
// since 2025-03-26, the SDK of its day carries 2024-11-05. Refuses to guess: a bundle it cannot read is an error, never
// a skipped check, and the schemas are used as published.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { runInNewContext } from "node:vm";
import { Ajv, type ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import * as sdkTypes from "sdk-2024-11-05/types.js";

export const OFFICIAL_REVISIONS = ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const ERA_2026 = new Set(["2026-07-28"]);
const BUNDLED_REVISIONS = OFFICIAL_REVISIONS.filter((revision) => revision >= "2025");

export type Sender = "server" | "client";
/** `direction` is who sent the message; `method` is the method of the request that a response answers. */
export type MessageContext = { direction: Sender; method?: string };
/** Method name → name of the definition, as the unions of the schema (`ClientRequest`, …) allow them. */
export type MethodTable = Record<Sender, { requests: Map<string, string>; notifications: Map<string, string> }>;

type Schema = Record<string, unknown>;
type Violation = { path: string; text: string };
type Oracle = {
  methods: MethodTable;
  /** Error code → definition that describes the whole error response. */
  errors: Map<number, string>;
  batches: boolean;
  has(definition: string): boolean;
  mayAskForInput(request: string): boolean;
  check(definition: string, value: unknown): Violation[];
};

// ---- JSON Schemas from the bundle of the conformance runner ----

/** The source of the object literal that starts at `start`; braces inside strings and templates do not count. */
function literalAt(source: string, start: number): string {
  const token = /\\.|\$\{|["'`{}]/gs;
  token.lastIndex = start;
  let depth = 0;
  let quote = "";
  for (let found = token.exec(source); found; found = token.exec(source)) {
    const text = found[0];
    if (quote === "`" && text === "${") throw new Error("official schema: a template interpolates");
    if (quote !== "") quote = text === quote ? "" : quote;
    else if (/["'`]/.test(text)) quote = text;
    else if (text === "{") depth++;
    else if (text === "}" && --depth === 0) return source.slice(start, token.lastIndex);
  }
  throw new Error(`official schema: the object literal at ${start} never ends`);
}

/** The only value that `pattern` captures in `source`; anything else means the bundle is not what we know. */
function onlyMatch(source: string, pattern: RegExp, what: string): RegExpExecArray {
  const [match, ...others] = [...source.matchAll(pattern)];
  if (!match || others.length > 0) throw new Error(`official schema: found ${others.length + (match ? 1 : 0)} ${what}`);
  return match;
}

function evaluateSchema(source: string, name: string): Schema {
  const binding = new RegExp(`(?<![\\w$.])${name.replaceAll("$", "\\$")}\\s*=\\s*(?=\\{\\s*["'\`]?\\$schema)`, "g");
  const match = onlyMatch(source, binding, `schemas called ${name}`);
  const value: unknown = runInNewContext(`(${literalAt(source, match.index + match[0].length)})`, Object.create(null));
  // The round trip moves the value into this realm and drops what is not JSON.
  const schema = JSON.parse(JSON.stringify(value)) as Schema;
  if (!("JSONRPCMessage" in definitionsOf(schema))) throw new Error(`official schema: ${name} has no JSONRPCMessage`);
  return schema;
}

function revisionOf(source: string, key: string): string {
  if (!key.startsWith("[")) return key.slice(1, -1);
  const name = key.slice(1, -1).trim().replaceAll("$", "\\$");
  const constant = new RegExp(`(?<![\\w$.])${name}\\s*=\\s*["'\`](\\d{4}-\\d\\d-\\d\\d)["'\`]`, "g");
  return onlyMatch(source, constant, `values for the revision ${key}`)[1] ?? "";
}

/** Revision → schema, from the runner's `{"2025-03-26": X, …}` table, whatever its minifier called the parts. */
export function parseSchemaBundle(source: string): Map<string, Schema> {
  const table = onlyMatch(source, /\{\s*["'`]2025-03-26["'`]\s*:\s*[\w$]+\s*,[^{}]*\}/g, "tables of schemas")[0];
  const schemas = new Map<string, Schema>();
  for (const [, key = "", name = ""] of table.matchAll(/(["'`][\d-]+["'`]|\[[^\]]+\])\s*:\s*([\w$]+)/g)) {
    schemas.set(revisionOf(source, key), evaluateSchema(source, name));
  }
  const missing = BUNDLED_REVISIONS.filter((revision) => !schemas.has(revision));
  if (missing.length > 0) throw new Error(`official schema: the bundle lacks ${missing.join(", ")}`);
  return schemas;
}

let bundled: Map<string, Schema> | undefined;
function bundledSchemas(): Map<string, Schema> {
  const path = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js");
  return (bundled ??= parseSchemaBundle(readFileSync(path, "utf8")));
}

// ---- An oracle from a JSON Schema ----

const definitionsOf = (schema: Schema) => (schema["$defs"] ?? schema["definitions"] ?? {}) as Record<string, Schema>;

function valueAt(value: unknown, ...keys: string[]): unknown {
  return keys.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The name of the referenced definition; empty when the schema is no reference. */
function refName(schema: unknown): string {
  const ref = valueAt(schema, "$ref");
  return typeof ref === "string" ? ref.replace(/^.*\//, "") : "";
}

/** A union is an `anyOf` of references, one reference, or (with one member) the member itself. */
function unionMembers(definitions: Record<string, Schema>, union: string): Map<string, string> {
  const schema = definitions[union];
  const members = new Map<string, string>();
  if (!schema) return members; // 2026-07-28 has no ServerRequest
  for (const branch of (schema["anyOf"] ?? [schema]) as Schema[]) {
    const name = refName(branch) || union;
    const method = valueAt(definitions[name], "properties", "method", "const");
    if (typeof method !== "string") throw new Error(`official schema: ${union} member ${name} names no method`);
    members.set(method, name);
  }
  return members;
}

function createJsonSchemaOracle(revision: string, schema: Schema): Oracle {
  const definitions = definitionsOf(schema);
  const errors = new Map<number, string>();
  for (const [name, definition] of Object.entries(definitions)) {
    for (const part of (valueAt(definition, "properties", "error", "allOf") ?? []) as unknown[]) {
      const code = valueAt(part, "properties", "code", "const");
      if (typeof code === "number") errors.set(code, name);
    }
  }
  const draft2020 = String(schema["$schema"]).includes("2020-12");
  // strictSchema: an unknown keyword or format throws, so that no rule is skipped in silence.
  const options = { allErrors: true, verbose: true, strict: false, strictSchema: true };
  const ajv = draft2020 ? new Ajv2020(options) : new Ajv(options);
  addFormats.default(ajv);
  ajv.addSchema(schema, revision);
  const prefix = `${revision}#/${draft2020 ? "$defs" : "definitions"}/`;
  const run = (name: string, value: unknown): ErrorObject[] => {
    const validate = ajv.getSchema(prefix + name); // compiled on first use, then cached by ajv
    if (!validate) throw new Error(`official schema: ${revision} has no ${name}`);
    return validate(value) ? [] : (validate.errors ?? []);
  };
  const sides = (sender: string) => ({
    requests: unionMembers(definitions, `${sender}Request`),
    notifications: unionMembers(definitions, `${sender}Notification`),
  });
  return {
    methods: { client: sides("Client"), server: sides("Server") },
    errors,
    batches: "JSONRPCBatchRequest" in definitions,
    has: (name) => name in definitions,
    mayAskForInput: (request) => {
      const response = definitions[request.replace(/Request$/, "ResultResponse")];
      return JSON.stringify(response ?? {}).includes('/InputRequiredResult"');
    },
    check: (name, value) => explain(run(name, value), run),
  };
}

const isAtOrBelow = (path: string, base: string) => path === base || path.startsWith(`${base}/`);

type Branch = { name: string; errors: ErrorObject[] };

/** A branch was not meant when the value is of another type or another discriminator (`type`, `method`, …). */
const isMeant = ({ errors }: Branch) =>
  !errors.some(({ keyword, instancePath: path }) =>
    path === ""
      ? keyword === "type"
      : (keyword === "const" && path.lastIndexOf("/") === 0) || (keyword === "enum" && path === "/type"),
  );

const missing = ({ errors }: Branch) =>
  errors.filter(({ keyword, instancePath }) => keyword === "required" && instancePath === "").length;

/** Of the branches of a failed union, the one that was meant; several when nobody can tell. */
function likelyBranches(branches: Branch[]): Branch[] {
  const meant = branches.filter((branch) => branch.name !== "" && isMeant(branch));
  const least = Math.min(...meant.map(missing));
  return meant.length === 0 ? branches : meant.filter((branch) => missing(branch) === least);
}

type Run = (definition: string, value: unknown) => ErrorObject[];

/** Of a failed union, tells what the branch that was meant says; ajv tells what every branch says. */
function explain(errors: ErrorObject[], run: Run): Violation[] {
  // ajv reports a union after its branches, so among unions at one path the last is the outermost.
  const unions = errors.filter(({ keyword }) => keyword === "anyOf");
  const outermost = unions.filter(
    ({ instancePath }, at) => !unions.slice(at + 1).some((later) => isAtOrBelow(instancePath, later.instancePath)),
  );
  const plain = errors.filter((error) => !unions.some((union) => isAtOrBelow(error.instancePath, union.instancePath)));
  return [...plain.map(readableError), ...outermost.flatMap((union) => explainUnion(union, run))];
}

function explainUnion({ instancePath, schema, data }: ErrorObject, run: Run): Violation[] {
  const names = (schema as Schema[]).map(refName);
  const likely = likelyBranches(names.map((name) => ({ name, errors: name === "" ? [] : run(name, data) })));
  const [branch, ...others] = likely;
  if (!branch || branch.errors.length === 0 || others.length > 0) {
    return [{ path: instancePath, text: `must be ${likely.map(({ name }) => name || "a list").join(" or ")}` }];
  }
  return explain(branch.errors, run).map(({ path, text }) => ({ path: instancePath + path, text }));
}

function readableError({ instancePath, message, params }: ErrorObject): Violation {
  const allowed: unknown = params["allowedValue"] ?? params["allowedValues"];
  const suffix = allowed === undefined ? "" : ` ${JSON.stringify(allowed)}`;
  return { path: instancePath, text: `${message ?? "is invalid"}${suffix}` };
}

// ---- An oracle from the SDK of 2024-11-05 ----

type Issue = { code: string; path: (string | number)[]; message: string; unionErrors?: { issues: Issue[] }[] };
type ZodLike = { safeParse(value: unknown): { success: boolean; error?: { issues: Issue[] } } };

function flattenIssue(issue: Issue): Issue[] {
  const branches = (issue.unionErrors ?? []).map((error) => error.issues.flatMap(flattenIssue));
  const intended = branches.filter((branch) => !branch.some(({ code }) => code === "invalid_literal"));
  return intended.length > 0 ? intended.flat() : [issue];
}

function createSdkOracle(): Oracle {
  const exported: Record<string, unknown> = { ...sdkTypes };
  const nameOf = (schema: unknown) => Object.keys(exported).find((name) => exported[name] === schema) ?? "";
  const members = (union: { options: readonly { shape: { method: { value: string } } }[] }) =>
    new Map(union.options.map((option) => [option.shape.method.value, nameOf(option).replace(/Schema$/, "")]));
  return {
    methods: {
      client: {
        requests: members(sdkTypes.ClientRequestSchema),
        notifications: members(sdkTypes.ClientNotificationSchema),
      },
      server: {
        requests: members(sdkTypes.ServerRequestSchema),
        notifications: members(sdkTypes.ServerNotificationSchema),
      },
    },
    errors: new Map(),
    batches: false,
    has: (name) => `${name}Schema` in exported,
    mayAskForInput: () => false,
    check(name, value) {
      const schema = exported[`${name}Schema`] as ZodLike | undefined;
      if (!schema) throw new Error(`official schema: the SDK of 2024-11-05 has no ${name}`);
      const issues = schema.safeParse(value).error?.issues ?? [];
      return issues.flatMap(flattenIssue).map(({ path, message }) => ({
        path: path.map((key) => `/${key}`).join(""),
        text: message,
      }));
    },
  };
}

const oracles = new Map<string, Oracle>();
function oracleFor(revision: string): Oracle {
  const known = oracles.get(revision);
  if (known) return known;
  if (!OFFICIAL_REVISIONS.includes(revision)) throw new Error(`official schema: unknown revision ${revision}`);
  const schema = BUNDLED_REVISIONS.includes(revision) ? bundledSchemas().get(revision) : undefined;
  const oracle = schema ? createJsonSchemaOracle(revision, schema) : createSdkOracle();
  oracles.set(revision, oracle);
  return oracle;
}

// ---- Judging a message ----

/** Which methods the revision knows, by sender. */
export const officialMethods = (revision: string): MethodTable => oracleFor(revision).methods;

// These requests have no result definition of their own: the specification answers them with EmptyResult.
const ANSWERED_EMPTY = new Set(["PingRequest", "SubscribeRequest", "UnsubscribeRequest", "SetLevelRequest"]);

function resultDefinition(oracle: Oracle, request: string): string {
  const name = request.replace(/Request$/, "Result");
  if (oracle.has(name)) return name;
  if (ANSWERED_EMPTY.has(request)) return "EmptyResult";
  throw new Error(`official schema: no result definition for ${request}`);
}

const describeAll = (label: string, violations: Violation[]) =>
  violations.map(({ path, text }) => `${label}: ${path === "" ? "" : `${path} `}${text}`);

/** The specific definition's violations, then those of JSON-RPC that it did not already report. */
function merge(specific: { label: string; base: string; found: Violation[] }, rpcViolations: Violation[]): string[] {
  const key = ({ path, text }: Violation, base = "") => `${base}${path} ${text}`;
  const told = new Set(specific.found.map((violation) => key(violation, specific.base)));
  const fresh = rpcViolations.filter((violation) => !told.has(key(violation)));
  return [...describeAll(specific.label, specific.found), ...describeAll("JSON-RPC", fresh)];
}

function judgeCall(revision: string, message: Record<string, unknown>, context?: MessageContext): string[] {
  const oracle = oracleFor(revision);
  const method = String(message["method"]);
  const kind = "id" in message ? "request" : "notification";
  const rpcViolations = oracle.check(kind === "request" ? "JSONRPCRequest" : "JSONRPCNotification", message);
  const senders: Sender[] = context ? [context.direction] : ["client", "server"];
  const name = senders.map((sender) => oracle.methods[sender][`${kind}s`].get(method)).find(Boolean);
  const found = name ? oracle.check(name, message) : [];
  const problems = merge({ label: `${method} ${kind}`, base: "", found }, rpcViolations);
  if (!name && context)
    problems.push(`${method} ${kind}: ${revision} knows no such ${kind} from a ${context.direction}`);
  return problems;
}

function checkResult(oracle: Oracle, request: string, result: unknown): Violation[] {
  const asks = oracle.has("InputRequiredResult") && valueAt(result, "resultType") === "input_required";
  if (!asks) return oracle.check(resultDefinition(oracle, request), result);
  const found = oracle.check("InputRequiredResult", result);
  if (!oracle.mayAskForInput(request)) found.push({ path: "/resultType", text: "must not ask for input here" });
  // The definition says this in words only.
  if (valueAt(result, "inputRequests") === undefined && valueAt(result, "requestState") === undefined) {
    found.push({ path: "", text: "must have inputRequests or requestState" });
  }
  return found;
}

function judgeResult(revision: string, message: Record<string, unknown>, context?: MessageContext): string[] {
  const oracle = oracleFor(revision);
  const definition = oracle.has("JSONRPCResultResponse") ? "JSONRPCResultResponse" : "JSONRPCResponse";
  const rpcViolations = oracle.check(definition, message);
  if (context?.method === undefined) return describeAll("JSON-RPC", rpcViolations);
  const asker: Sender = context.direction === "server" ? "client" : "server";
  const label = `${context.method} result`;
  const request = oracle.methods[asker].requests.get(context.method);
  const found = request
    ? checkResult(oracle, request, message["result"])
    : [{ path: "", text: `${revision} knows no such request from a ${asker}` }];
  return merge({ label, base: "/result", found }, rpcViolations);
}

const FORBIDDEN_2026 = "is a code that 2026-07-28 forbids";
const isForbidden2026 = (code: number) => (code >= -32019 && code <= -32000) || code === -32042;

function judgeError(revision: string, message: Record<string, unknown>, context?: MessageContext): string[] {
  const oracle = oracleFor(revision);
  const is2026 = ERA_2026.has(revision);
  // JSON-RPC answers a message whose id it could not read with `id: null`. The schemas of era 2025 leave that out, though
  // their HTTP transport needs it for parse errors; it is the only thing loosened here. Era 2026 leaves the id away.
  const judged = !is2026 && message["id"] === null ? { ...message, id: 0 } : message;
  const rpcViolations = oracle.check(
    oracle.has("JSONRPCErrorResponse") ? "JSONRPCErrorResponse" : "JSONRPCError",
    judged,
  );
  const code = valueAt(message, "error", "code");
  const name = typeof code === "number" ? oracle.errors.get(code) : undefined;
  const found = name ? oracle.check(name, judged) : [];
  if (is2026 && typeof code === "number" && isForbidden2026(code))
    found.push({ path: "/error/code", text: `${code} ${FORBIDDEN_2026}` });
  return merge({ label: `${context?.method ?? "unattributed"} error`, base: "", found }, rpcViolations);
}

function judgeBatch(revision: string, batch: unknown[], context?: MessageContext): string[] {
  if (!oracleFor(revision).batches) return [`JSON-RPC: ${revision} has no batches`];
  const answers = batch.map((item) => isRecord(item) && !("method" in item));
  const mixed = new Set(answers).size > 1 ? ["JSON-RPC: a batch holds calls or responses, not both"] : [];
  const found = batch.flatMap((item, at) =>
    officialViolations(revision, item, context).map((text) => `[${at}] ${text}`),
  );
  const nested = batch.some((item) => Array.isArray(item)) ? ["JSON-RPC: a batch holds no batch"] : [];
  return [...mixed, ...nested, ...found];
}

/**
 * What the official schema of `revision` has against `message`; empty when valid. Without a context, a method unknown to
 * the revision is judged as JSON-RPC only. In a batch the context holds for every response, so judge the responses
 * of a batch one by one when they answer different methods.
 */
export function officialViolations(revision: string, message: unknown, context?: MessageContext): string[] {
  oracleFor(revision);
  if (Array.isArray(message)) return judgeBatch(revision, message, context);
  if (!isRecord(message)) return ["JSON-RPC: must be object"];
  const kinds = ["method", "result", "error"].filter((key) => key in message);
  if (kinds.length !== 1)
    return [`JSON-RPC: must have one of method, result, error, but has ${kinds.join(" and ") || "none"}`];
  if (kinds[0] === "method") return judgeCall(revision, message, context);
  return kinds[0] === "result" ? judgeResult(revision, message, context) : judgeError(revision, message, context);
}

/** Throws when the official schema of `revision` refuses `message`. */
export function expectOfficial(revision: string, message: unknown, context?: MessageContext): void {
  const violations = officialViolations(revision, message, context);
  if (violations.length === 0) return;
  const shown = (JSON.stringify(message) ?? String(message)).slice(0, 2000);
  throw new Error(`not a valid ${revision} message:\n- ${violations.join("\n- ")}\n${shown}`);
}
