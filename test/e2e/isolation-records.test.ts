// Nobody reads what was noted of another tenant: usage, recorded calls, webhooks, errors; by the admin API as the other's
// administrator, by the id of a request, by a cursor, by a tenant that is made again under the name. What is kept of a call is
// in no answer to a client. Tenants × routes × ways × eras, each tenant's texts marked with its name.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  expectNothingForeign,
  inLanes,
  REVISIONS,
  viewerOf,
  type Viewer,
  type IsolationFixture,
} from "./isolation/visible.ts";
import { documents, makeFixture, markOf, TENANTS, type TenantName } from "./isolation/fixture.ts";
import type { Json } from "../support/mcp-client.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const CALLERS = ["own", "scoped", "bound"] as const;
type Caller = (typeof CALLERS)[number];
const SECRETS_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const NOTED = ["calls", "usage/calls?open=1", "errors", "webhooks", "secrets", "audit"] as const;

/** In the arguments of one caller, and nowhere else. */
const argumentOf = (tenant: TenantName, caller: Caller) => `argument-of-${caller} ${markOf(tenant)}`;
const secretOf = (tenant: TenantName) => `whsec_${btoa(`signed by ${markOf(tenant)}`)}`;

/** What webhooks were sent, whole. */
const received: string[] = [];
const receiver = createServer((request, response) => {
  received.push(JSON.stringify([request.url, request.headers]));
  request.on("data", (chunk: Buffer) => received.push(chunk.toString()));
  request.on("end", () => response.writeHead(204).end());
});
let hooksAt = "";
let workers: WorkerPair;
let fixture: IsolationFixture;
/** The token of each tenant's own administrator. */
const administrators = new Map<TenantName, string>();
/** Everything that a client was answered, by tenant and caller. */
const answered: { readonly tenant: TenantName; readonly caller: Caller; readonly text: string }[] = [];

const documentOf = (tenant: TenantName): Json => ({
  tools: { ...documents[tenant].tools, lab_fail: { enabled: true } },
  audit: { calls: "redacted", wait: true },
  webhooks: { [`hook-${tenant}`]: { url: `${hooksAt}/${markOf(tenant)}`, secret: "{{secret:HOOK}}" } },
});

beforeAll(async () => {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  hooksAt = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const vars = { SECRETS_KEY, OUTBOUND_ALLOW: "http://127.0.0.1" };
  workers = await startWorkerPair(vars, undefined, false, { entry: "noting-worker" });
});
// Hooks of their own: each of these takes a while on a machine that is busy.
beforeAll(async () => {
  fixture = { workers, tokens: await makeFixture(workers.one, 1000, documentOf) };
  for (const tenant of TENANTS) {
    await workers.one.admin("PUT", `/tenants/${tenant}/secrets/HOOK`, { value: secretOf(tenant) });
    const made = { name: `of-${tenant}`, role: "tenant-admin", tenants: [tenant] };
    administrators.set(tenant, String((await workers.one.admin("POST", "/operators", made))["token"]));
  }
});
beforeAll(async () => {
  await inLanes(callers(), async (viewer) => {
    const { tenant, caller } = viewer;
    const tools = caller === "scoped" ? ["lab_echo"] : ["lab_echo", "lab_fail"];
    for (const name of tools) {
      const text = argumentOf(tenant, caller);
      const { text: message } = await viewer.ask("tools/call", { name, arguments: { text } });
      answered.push({ tenant, caller, text: message });
    }
    return 0;
  });
});
afterAll(async () => {
  receiver.close();
  await workers?.stop();
});

interface Calling extends Viewer {
  readonly caller: Caller;
}

const callers = (): readonly Calling[] =>
  TENANTS.flatMap((tenant) =>
    CALLERS.flatMap((caller) => {
      const profile = caller === "bound" ? "narrow" : null;
      return REVISIONS.map((revision) => {
        const viewer = viewerOf(fixture, { tenant, profile, principal: caller }, revision);
        return { ...viewer, caller };
      });
    }),
  );

interface Received {
  readonly status: number;
  readonly text: string;
}

async function answerOf(
  path: string,
  by: TenantName | "root",
  at: keyof Pick<WorkerPair, "one" | "two"> = "one",
): Promise<Received> {
  const { origin } = workers[at];
  const token = by === "root" ? "admin-token-of-two-workers-0123456789" : String(administrators.get(by));
  const response = await fetch(`${origin}/admin/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, text: await response.text() };
}

const linesOf = ({ text }: Received): Json[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Json);
const itemsOf = ({ text }: Received): Json[] => (JSON.parse(text) as { items: Json[] }).items;

/** Without the name that was asked for, and the id of the request. */
const refusalIn = ({ text }: Received, name: string): Json => {
  const { requestId: _ofOne, ...problem } = JSON.parse(text.replaceAll(name, "NAME")) as Json;
  return problem;
};

/** Handed over by the isolates some time after the answers. */
async function noted(tenant: TenantName): Promise<{ readonly faults: readonly Json[] }> {
  const usage = async () =>
    linesOf(await answerOf(`/tenants/${tenant}/usage/calls?open=1`, tenant))
      .filter(({ name }) => name === "lab_echo")
      .reduce((sum, { calls }) => sum + Number(calls), 0);
  await expect.poll(usage, { timeout: 40_000 }).toBe(CALLERS.length * REVISIONS.length);
  const faults = async () => itemsOf(await answerOf(`/tenants/${tenant}/errors`, tenant));
  await expect.poll(async () => (await faults()).length, { timeout: 20_000 }).toBe(REVISIONS.length);
  return { faults: await faults() };
}

test("each tenant's administrator reads what was noted of their own, and of no other", async () => {
  for (const tenant of TENANTS) {
    await noted(tenant);
    const entries = linesOf(await answerOf(`/tenants/${tenant}/calls`, tenant)).filter(({ kind }) => kind === "call");
    expect(entries).toHaveLength((2 * CALLERS.length - 1) * REVISIONS.length);
    for (const what of NOTED) {
      const own = await answerOf(`/tenants/${tenant}/${what}`, tenant);
      expect({ what, status: own.status }).toEqual({ what, status: 200 });
      expectNothingForeign({ tenant, profile: null, principal: "own" }, own.text);
      if (["calls", "errors", "webhooks"].includes(what)) expect(own.text).toContain(markOf(tenant));
      for (const other of TENANTS.filter((one) => one !== tenant)) {
        // Neither is told whether there is such a tenant.
        const foreign = await answerOf(`/tenants/${other}/${what}`, tenant);
        const nobody = await answerOf(`/tenants/nobody/${what}`, tenant);
        expect([403, 404]).toContain(foreign.status);
        expect(refusalIn(foreign, other)).toEqual(refusalIn(nobody, "nobody"));
      }
    }
  }
}, 180_000);

test("by the id of a request nobody finds another tenant's error", async () => {
  const [alpha, beta] = [await noted("alpha"), await noted("beta")];
  for (const { requestId } of beta.faults) {
    const query = `requestId=${String(requestId)}`;
    expect(itemsOf(await answerOf(`/tenants/alpha/errors?${query}`, "alpha"))).toEqual([]);
    expect((await answerOf(`/errors?${query}`, "alpha")).status).toBe(403);
    expect((await answerOf(`/tenants/beta/errors?${query}`, "alpha")).status).toBeGreaterThanOrEqual(403);
    // Whoever operates the platform finds it, and that one alone.
    const found = await answerOf(`/errors?${query}`, "root");
    expect(itemsOf(found)).toHaveLength(1);
    expectNothingForeign({ tenant: "beta", profile: null, principal: "own" }, found.text);
  }
  expect(alpha.faults.length).toBe(beta.faults.length);
});

test("a cursor or a place of another tenant's list shows nothing but one's own", async () => {
  await Promise.all(TENANTS.map(noted));
  for (const from of TENANTS) {
    const { cursor } = JSON.parse((await answerOf(`/tenants/${from}/errors?limit=1`, from)).text) as { cursor: string };
    const lines = linesOf(await answerOf(`/tenants/${from}/calls`, from));
    const heads = lines.filter(({ kind }) => kind === "head").map(({ sequence }) => Number(sequence));
    for (const to of TENANTS.filter((one) => one !== from)) {
      const places = [0, 1, ...heads.map((head) => head - 1), ...heads, Number.MAX_SAFE_INTEGER];
      const paths = [
        `/tenants/${to}/errors?cursor=${encodeURIComponent(cursor)}`,
        ...places.map((after) => `/tenants/${to}/calls?after=${after}`),
        `/tenants/${to}/audit?cursor=${encodeURIComponent(cursor)}`,
      ];
      for (const path of paths) {
        const { status, text } = await answerOf(path, to);
        expect({ path, isAnswered: status < 500 }).toEqual({ path, isAnswered: true });
        expectNothingForeign({ tenant: to, profile: null, principal: "own" }, text);
      }
    }
  }
});

test("a webhook's secret is in no answer, to whomever", async () => {
  for (const tenant of TENANTS) {
    await noted(tenant);
    const paths = [...NOTED, "document", "backup", "", "upstreams", "limits", "webhooks"].map((what) =>
      `/tenants/${tenant}/${what}`.replace(/\/$/, ""),
    );
    for (const by of [tenant, "root"] as const) {
      for (const path of paths) {
        const { text } = await answerOf(path, by, by === "root" ? "two" : "one");
        expect({ path, shows: text.includes(secretOf(tenant)) }).toEqual({ path, shows: false });
      }
    }
    const answer = await fetch(`${workers.one.origin}/admin/v1/tenants/${tenant}/webhooks/hook-${tenant}/test`, {
      method: "POST",
      headers: { authorization: `Bearer ${String(administrators.get(tenant))}` },
    });
    const text = await answer.text();
    expect({ text, shows: text.includes(secretOf(tenant)) }).toMatchObject({
      text: expect.stringContaining('"delivered":true') as string,
      shows: false,
    });
    // Nor is it sent to whom it signs for, who knows it.
    expect(received.join("\n")).not.toContain(secretOf(tenant));
    for (const one of answered) expect(one.text).not.toContain(secretOf(tenant));
  }
});

test("what was recorded of a call is in no answer to another caller", async () => {
  const requests = [
    ...["tools/list", "prompts/list", "resources/list", "resources/templates/list"].map(
      (method) => [method, {}] as const,
    ),
    ["tools/call", { name: "search", arguments: { query: "argument" } }] as const,
    ["tools/call", { name: "lab_list", arguments: { prefix: "" } }] as const,
    ["tools/call", { name: "fetch", arguments: { id: "lab://notes/public/one" } }] as const,
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "shared_prompt" }, argument: { name: "x", value: "" } },
    ] as const,
  ];
  await inLanes(callers(), async (viewer) => {
    for (const [method, params] of requests) {
      const { text } = await viewer.ask(method, params);
      answered.push({ tenant: viewer.tenant, caller: viewer.caller, text });
    }
    return requests.length;
  });
  for (const { tenant, caller, text } of answered) {
    for (const other of CALLERS.filter((one) => one !== caller)) expect(text).not.toContain(argumentOf(tenant, other));
  }
});

test("a tenant that is made again under the name has nothing of what was noted before", async () => {
  const { faults } = await noted("gamma");
  // What this isolate has noted and not handed over yet is of the tenant that goes.
  const viewer = viewerOf(fixture, { tenant: "gamma", profile: null, principal: "own" }, "2026-07-28");
  await viewer.ask("tools/call", { name: "lab_echo", arguments: { text: "late" } });
  await workers.one.admin("DELETE", "/tenants/gamma");
  await workers.one.admin("POST", "/tenants", { id: "gamma", document: { mode: "open", ...documentOf("gamma") } });
  const again = async () => {
    const usage = linesOf(await answerOf("/tenants/gamma/usage/calls?open=1", "root"));
    const calls = linesOf(await answerOf("/tenants/gamma/calls", "root"));
    const seen = itemsOf(await answerOf("/tenants/gamma/errors", "root"));
    const ids = faults.map(async ({ requestId }) => {
      const here = await answerOf(`/tenants/gamma/errors?requestId=${String(requestId)}`, "root");
      const anywhere = await answerOf(`/errors?requestId=${String(requestId)}`, "root");
      return [...itemsOf(here), ...itemsOf(anywhere).filter(({ message }) => message !== "")];
    });
    const { waiting, dropped } = JSON.parse((await answerOf("/tenants/gamma/webhooks", "root")).text) as Json;
    return {
      usage,
      calls: calls.filter(({ kind }) => kind === "call"),
      head: calls.filter(({ kind }) => kind === "head").map(({ sequence }) => sequence),
      faults: seen,
      ids: (await Promise.all(ids)).flat(),
      waiting,
      dropped,
    };
  };
  const nothing = { usage: [], calls: [], head: [0], faults: [], ids: [], waiting: 0, dropped: 0 };
  expect(await again()).toEqual(nothing);
  // Longer than a batch is open in an isolate.
  const probe = viewerOf(fixture, { tenant: "beta", profile: null, principal: "own" }, "2026-07-28");
  await probe.ask("tools/call", { name: "lab_echo", arguments: { text: "after it" } });
  const counted = async () =>
    linesOf(await answerOf("/tenants/beta/usage/calls?open=1", "beta"))
      .filter(({ name }) => name === "lab_echo")
      .reduce((sum, { calls }) => sum + Number(calls), 0);
  await expect.poll(counted, { timeout: 40_000 }).toBe(CALLERS.length * REVISIONS.length + 1);
  expect(await again()).toEqual(nothing);
}, 120_000);
