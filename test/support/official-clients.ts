// The ways in which the official clients connect: each client over each of its transports, in each era that it speaks
// there, behind one face, so that a test has one body for all of them.

import {
  Client as ClientV2,
  type PriorDiscovery,
  StreamableHTTPClientTransport as HttpV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as TransportV1 } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  type JSONRPCMessage,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import type { Json } from "./mcp-client.ts";
import { startV1, startV2, type Started } from "./official-stdio-clients.ts";

const ABOUT = { name: "official-streams-test", version: "1" };

export const SAMPLED = { model: "m", role: "assistant", content: { type: "text", text: "Blue." } } as const;
export const ROOTS = [{ uri: "file:///home/ada", name: "Home" }];

/** Who sits at the client. */
export interface Person {
  /** What every form is filled in with. */
  readonly form?: Record<string, string | boolean>;
  /** Called with each question before it is answered. */
  readonly onQuestion?: (method: string) => void | Promise<void>;
}

export interface Place {
  readonly origin: string;
  readonly tenant: string;
  readonly key?: string;
  /** What is known of the server already. */
  readonly prior?: PriorDiscovery;
}

export interface CallOptions {
  readonly onprogress?: (progress: { progress: number }) => void;
  readonly onresumptiontoken?: (token: string) => void;
  readonly resumptionToken?: string;
}

export interface Connected {
  /** What the client passes on to its application. */
  readonly notifications: ReceivedNotifications;
  /** What comes over the transport: the clients pass no progress on that comes in one piece with the result. */
  readonly received: ReceivedNotifications;
  /** What the client finds wrong. */
  readonly faults: readonly Error[];
  /** The text of the result; throws for an error. */
  readonly call: (name: string, args?: Json, options?: CallOptions) => Promise<string>;
  readonly read: (uri: string) => Promise<string>;
  readonly tools: () => Promise<string[]>;
  /** From now on what changes is heard: the text of this resource, and the list of tools. */
  readonly watch: (uri: string) => Promise<void>;
}

/** By a bridge that the client started. */
export type Bridged = Connected & Pick<Started<unknown>, "said">;

export interface Way<Made extends Connected = Connected> {
  readonly title: string;
  readonly era: "2025" | "2026";
  /** Whether what a broken connection was told can be fetched after it: era 2026 has no sessions and no event ids. */
  readonly resumes: boolean;
  /** It does not say which event it had last: an open question is put again, and progress made meanwhile is not told. */
  readonly namesNoEvent?: true;
  readonly isPrivate?: true;
  connect(place: Place, person?: Person): Promise<Made>;
}

/** Notifications, in the order they came. */
export class ReceivedNotifications {
  readonly all: { readonly method: string; readonly params: Json }[] = [];
  #waiting: (() => void)[] = [];

  take({ method, params = {} }: { method: string; params?: Json | undefined }): void {
    this.all.push({ method, params });
    for (const wake of this.#waiting.splice(0)) wake();
  }

  count(method: string): number {
    return this.all.filter((one) => one.method === method).length;
  }

  /** Until so many of them have come. */
  async until(method: string, count = 1): Promise<void> {
    while (this.count(method) < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

const CAPABILITIES = { elicitation: { form: {} }, sampling: {}, roots: {} };

export function answeringV1({ form = { yes: true }, onQuestion = () => {} }: Person = {}): ClientV1 {
  const client = new ClientV1(ABOUT, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, async ({ method }) => {
    await onQuestion(method);
    return { action: "accept", content: form };
  });
  client.setRequestHandler(CreateMessageRequestSchema, async ({ method }) => {
    await onQuestion(method);
    return SAMPLED;
  });
  client.setRequestHandler(ListRootsRequestSchema, async ({ method }) => {
    await onQuestion(method);
    return { roots: ROOTS };
  });
  return client;
}

export function answeringV2(era: Way["era"], { form = { yes: true }, onQuestion = () => {} }: Person = {}): ClientV2 {
  const mode = era === "2026" ? { pin: "2026-07-28" } : ("legacy" as const);
  const client = new ClientV2(ABOUT, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", async ({ method }) => {
    await onQuestion(method);
    return { action: "accept", content: form };
  });
  client.setRequestHandler("sampling/createMessage", async ({ method }) => {
    await onQuestion(method);
    return SAMPLED;
  });
  client.setRequestHandler("roots/list", async ({ method }) => {
    await onQuestion(method);
    return { roots: ROOTS };
  });
  return client;
}

type Face = Omit<Connected, "faults" | "received">;

function connectedV1(client: ClientV1): Face {
  return {
    ...reading(client),
    call: async (name, args = {}, options = {}) =>
      textOf(await client.callTool({ name, arguments: args }, undefined, options)),
    watch: async (uri) => {
      await client.subscribeResource({ uri });
    },
  };
}

function connectedV2(client: ClientV2, era: Way["era"]): Face {
  return {
    ...reading(client),
    call: async (name, args = {}, options = {}) => textOf(await client.callTool({ name, arguments: args }, options)),
    watch: async (uri) => {
      if (era === "2025") await client.subscribeResource({ uri });
      else await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    },
  };
}

/** What both do alike. */
function reading(client: ClientV1 | ClientV2) {
  const notifications = new ReceivedNotifications();
  client.fallbackNotificationHandler = async (notification: { method: string; params?: Json | undefined }) => {
    notifications.take(notification);
  };
  return {
    notifications,
    read: async (uri: string) => {
      const { contents } = await client.readResource({ uri });
      return contents[0] && "text" in contents[0] ? contents[0].text : "";
    },
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
  };
}

/** Of a client that is connected. */
export function receivedBy(client: ClientV1 | ClientV2): ReceivedNotifications {
  const received = new ReceivedNotifications();
  const transport = client.transport as { onmessage?: (message: JSONRPCMessage, extra?: object) => void };
  const { onmessage } = transport;
  const listen: typeof onmessage = (message, extra) => {
    onmessage?.(message, extra);
    if ("method" in message && !("id" in message)) received.take(message);
  };
  Object.assign(transport, { onmessage: listen });
  return received;
}

export function textOf(result: object): string {
  const { content, isError } = result as { content: { text: string }[]; isError?: boolean };
  const text = content[0]?.text ?? "";
  if (isError === true) throw new Error(text);
  return text;
}

/** How often a client tries to come back must not depend on how busy the machine is. */
const PATIENT = {
  initialReconnectionDelay: 100,
  maxReconnectionDelay: 1000,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 1000,
};

/** What a transport over HTTP is made of. */
export function httpOptions({ key }: Place) {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return { requestInit: { headers }, reconnectionOptions: PATIENT };
}

export const urlOf = ({ origin, tenant }: Place) => new URL(`/mcp/${tenant}`, origin);

const byUrl = ({ origin, tenant, key }: Place) => [
  tenant,
  "--url",
  origin,
  ...(key === undefined ? [] : ["--key", key]),
];

function overHttpV1(title: string, transportOf: (place: Place) => TransportV1): Way {
  return {
    title,
    era: "2025",
    resumes: true,
    connect: async (place, person) => {
      const client = answeringV1(person);
      const faults: Error[] = [];
      Object.assign(client, { onerror: (error: Error) => void faults.push(error) });
      const connected = connectedV1(client);
      await client.connect(transportOf(place));
      onTestFinished(() => client.close());
      return { ...connected, faults, received: receivedBy(client) };
    },
  };
}

function overHttpV2(title: string, era: Way["era"]): Way {
  return {
    title,
    era,
    resumes: era === "2025",
    connect: async (place, person) => {
      const client = answeringV2(era, person);
      const faults: Error[] = [];
      Object.assign(client, { onerror: (error: Error) => void faults.push(error) });
      const connected = connectedV2(client, era);
      await client.connect(new HttpV2(urlOf(place), httpOptions(place)));
      onTestFinished(() => client.close());
      return { ...connected, faults, received: receivedBy(client) };
    },
  };
}

/** `argumentsOf`: of `tenantry stdio`. */
export function overStdioV1(title: string, argumentsOf: (place: Place) => string[]): Way<Bridged> {
  return {
    title,
    era: "2025",
    resumes: true,
    connect: async (place, person) => {
      const client = answeringV1(person);
      const connected = connectedV1(client);
      const { faults, said: untilLogged } = await startV1(argumentsOf(place), client);
      return { ...connected, faults, said: untilLogged, received: receivedBy(client) };
    },
  };
}

/** `place.prior` spares the client a process: it need not find out what the server speaks. */
export function overStdioV2(title: string, era: Way["era"], argumentsOf: (place: Place) => string[]): Way<Bridged> {
  return {
    title,
    era,
    resumes: era === "2025",
    connect: async (place, person) => {
      const client = answeringV2(era, person);
      const connected = connectedV2(client, era);
      const { faults, said: untilLogged } = await startV2(
        argumentsOf(place),
        client,
        place.prior && { prior: place.prior },
      );
      return { ...connected, faults, said: untilLogged, received: receivedBy(client) };
    },
  };
}

/** The client sends no Last-Event-ID and never initializes again: its stream has a name of its own, and goes on by that. */
const overSse = {
  ...overHttpV1("v1 over HTTP+SSE", (place) => {
    const url = urlOf(place);
    url.searchParams.set("stream", crypto.randomUUID());
    return new SSEClientTransport(url, { requestInit: httpOptions(place).requestInit });
  }),
  namesNoEvent: true,
} as const;

export const WAYS: readonly Way[] = [
  overHttpV1("v1 over Streamable HTTP", (place) => new HttpV1(urlOf(place), httpOptions(place))),
  overSse,
  overHttpV2("v2 over Streamable HTTP in era 2026", "2026"),
  overHttpV2("v2 over Streamable HTTP in era 2025", "2025"),
  overStdioV1("v1 over stdio", byUrl),
  overStdioV2("v2 over stdio in era 2026", "2026", byUrl),
  overStdioV2("v2 over stdio in era 2025", "2025", byUrl),
  { ...overStdioV1("v1 over stdio with a key", byUrl), isPrivate: true },
  { ...overStdioV2("v2 over stdio in era 2026 with a key", "2026", byUrl), isPrivate: true },
];
