// Asks a server for everything that it offers, through one of the official clients: every list, every tool, resource,
// template, prompt and completion, with arguments made from what is listed.

import type { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Json } from "../support/mcp-client.ts";

export type AnyClient = ClientV1 | ClientV2;

/** What a call is given in place of what its schema suggests, by the member's name. */
const VALUES: Readonly<Record<string, string | number>> = {
  data: "data:text/plain,hello",
  duration: 0.3,
  steps: 3,
  resourceId: 1,
  resourceType: "Text",
  url: "data:text/plain,hello",
};

/** What is another one at each asking. */
const VOLATILE: readonly (readonly [what: RegExp, instead: string])[] = [
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g, "TIME"],
  [/\d{1,2}:\d{2}:\d{2}(?:\s[AP]M)?/g, "TIME"],
  [/\d{1,2}\/\d{1,2}\/\d{4}/g, "DATE"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID"],
];

export interface Survey {
  readonly listed: Readonly<Record<"tools" | "prompts" | "resources" | "templates", readonly Json[]>>;
  /** By what was asked for: the answer, or the code of the error. */
  readonly answers: Readonly<Record<string, unknown>>;
}

interface SentRequest {
  /** What stands before the server's own names. */
  readonly prefix: string;
  /** Whether to ask for completions: a gateway says that it completes, whatever is behind it. */
  readonly completes: boolean;
}

export async function survey(client: AnyClient, { prefix, completes }: SentRequest): Promise<Survey> {
  const { tools, prompts, resources, templates } = await listsOf(client);
  const bare = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : `NOT PREFIXED ${name}`);
  const answers: Record<string, unknown> = {};
  for (const { name, inputSchema } of tools) {
    const params = { name, arguments: sampleOf(inputSchema) as Json };
    answers[`call ${bare(name)}`] = await answerOf(client.callTool(params), [
      "content",
      "structuredContent",
      "isError",
    ]);
  }
  const uris = [...resources.map(({ uri }) => uri), ...templates.map(({ uriTemplate }) => filled(uriTemplate))];
  for (const uri of uris) answers[`read ${uri}`] = await answerOf(client.readResource({ uri }), ["contents"]);
  for (const { name, arguments: takes = [] } of prompts) {
    const given = Object.fromEntries(takes.map((one) => [one.name, String(VALUES[one.name] ?? "test")]));
    answers[`prompt ${bare(name)}`] = await answerOf(client.getPrompt({ name, arguments: given }), ["messages"]);
  }
  for (const { ref, name } of completes ? completable(prompts, templates) : []) {
    const what = ref.type === "ref/prompt" ? bare(ref.name) : ref.uri;
    for (const value of ["", "t", "test"]) {
      const asking = client.complete({ ref, argument: { name, value } });
      answers[`complete ${what} ${name} "${value}"`] = await answerOf(asking, ["completion"]);
    }
  }
  const unnamed = (items: readonly object[]) => items.map((item) => plainDefinition(item as Json));
  const named = (items: readonly object[]) =>
    unnamed(items).map((item) => ({ ...item, name: bare(String(item["name"])) }));
  return {
    listed: {
      tools: named(tools),
      prompts: named(prompts),
      resources: unnamed(resources),
      templates: unnamed(templates),
    },
    answers,
  };
}

async function listsOf(client: AnyClient) {
  const can = client.getServerCapabilities() ?? {};
  return {
    tools: can.tools ? (await client.listTools()).tools : [],
    prompts: can.prompts ? (await client.listPrompts()).prompts : [],
    resources: can.resources ? (await client.listResources()).resources : [],
    templates: can.resources ? (await client.listResourceTemplates()).resourceTemplates : [],
  };
}

interface Prompt {
  readonly name: string;
  readonly arguments?: readonly { readonly name: string }[] | undefined;
}

/** Each argument of each prompt, and each variable of each template. */
function completable(prompts: readonly Prompt[], templates: readonly { readonly uriTemplate: string }[]) {
  return [
    ...prompts.flatMap(({ name: of, arguments: takes = [] }) =>
      takes.map(({ name }) => ({ ref: { type: "ref/prompt" as const, name: of }, name })),
    ),
    ...templates.flatMap(({ uriTemplate: uri }) =>
      variablesOf(uri).map((name) => ({ ref: { type: "ref/resource" as const, uri }, name })),
    ),
  ];
}

/** Of `_meta` only what the server put there; `execution` is of 2025-11-25 alone, and a client of 2026 is not shown it. */
function plainDefinition({ _meta, ...definition }: Json): Json {
  const item = Object.fromEntries(Object.entries(definition).filter(([member]) => member !== "execution"));
  const own = Object.entries((_meta ?? {}) as Json).filter(([name]) => !name.startsWith("tenantry/"));
  return own.length === 0 ? item : { ...item, _meta: Object.fromEntries(own) };
}

async function answerOf(asking: Promise<object>, members: readonly string[]): Promise<unknown> {
  try {
    const answer = (await asking) as Json;
    const kept = Object.fromEntries(members.filter((name) => name in answer).map((name) => [name, answer[name]]));
    const json = JSON.stringify(kept, (key, value: unknown) => (key === "blob" ? decoded(value) : value));
    const text = VOLATILE.reduce((left, [what, instead]) => left.replaceAll(what, instead), json);
    return JSON.parse(text);
  } catch (error) {
    return { refused: (error as { code?: unknown }).code ?? String(error) };
  }
}

const decoded = (blob: unknown) => `base64 of ${Buffer.from(String(blob), "base64").toString()}`;
const variablesOf = (template: string) =>
  [...template.matchAll(/\{[+#./;?&]?(\w+)\*?\}/g)].map(([, name = ""]) => name);
const filled = (template: string) => template.replaceAll(/\{[^}]+\}/g, "1");

const SAMPLES: Readonly<Record<string, (schema: Json) => unknown>> = {
  number: ({ minimum = 2 }) => Math.max(2, Number(minimum)),
  integer: ({ minimum = 2 }) => Math.max(2, Number(minimum)),
  boolean: () => true,
  array: ({ items = {} }) => [sampleOf(items as Json)],
  object: ({ properties = {} }) =>
    Object.fromEntries(
      Object.entries(properties as Record<string, Json>).map(([name, of]) => [name, VALUES[name] ?? sampleOf(of)]),
    ),
};

/** A value of a JSON Schema, every member of an object included. */
function sampleOf(schema: Json): unknown {
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  return SAMPLES[String(schema["type"])]?.(schema) ?? "test";
}

/** Every progress that a call told of. */
export async function progressOf(client: AnyClient, name: string): Promise<readonly number[]> {
  const values: number[] = [];
  const onprogress = ({ progress }: { progress: number }) => void values.push(progress);
  const params = { name, arguments: { duration: 0.3, steps: 3 } };
  if (client instanceof ClientV1) await client.callTool(params, undefined, { onprogress });
  else await client.callTool(params, { onprogress });
  return values;
}

/** What a call logged, to a client of v1 that asks for every level. */
export async function logsOf(client: ClientV1, name: string): Promise<readonly unknown[]> {
  const messages: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void messages.push(params.data));
  await client.setLoggingLevel("debug");
  await client.callTool({ name, arguments: {} });
  return messages;
}
