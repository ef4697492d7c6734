// Every call to the tenant's object on the way fails in every way. The caller gets an answer in time, which says no
// more than what failed.

import { env, exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { getSecretsRing } from "../../src/auth/secrets-key.ts";
import { toBase64Url } from "../../src/auth/seal.ts";
import { createWorker, defineTool, gateway, type Env } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { sealSecret } from "../../src/tenants/cache/tenant-secrets.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { OBJECT_FAULTS, withFault, type ObjectFault } from "../support/workerd/object-faults.ts";
import { workerAt } from "../support/workerd/upstreams.ts";
import { callOn, keeperOf } from "../support/workerd/object-calls.ts";

const LONG = ["a", "b", "c"].map((letter) => ({ type: "text" as const, text: letter.repeat(600) }));
const tools = [defineTool({ name: "long", handler: () => LONG })];
const upstream = createWorker({ tenants: { acme: { maxStalenessMs: 60_000 } }, tools });
const worker = createWorker({ tenants: {}, tools, features: [gateway()] });
const ANN = { name: "ann" };
const SECRETS_KEY = toBase64Url(new Uint8Array(32).fill(7));
const working: Env = { ...env, SECRETS_KEY };

/** `steps` gets the names of all calls to the authority; `at`: the one that fails. */
function faulty(steps: string[], at?: string, fault: ObjectFault = "hangs"): Env {
  const getByName = (name: string) => {
    const keeper = exports.TenantObject.getByName(name);
    return keeperOf((step, args) => {
      steps.push(step);
      const work = async () => callOn(keeper, step, ...args);
      return step === at ? withFault(fault, work) : work();
    });
  };
  return { ...working, TenantObject: { getByName } as never };
}

interface UpstreamRequest {
  readonly method: string;
  readonly params: object;
}

/** A tenant that holds nothing of what its next request needs, and what is asked of it. */
async function scene(what: "call" | "read", name: string) {
  const headers = { "x-key": "{{secret:KEY}}" };
  const { id, stub } = await servedTenant({
    mode: "open",
    maxStalenessMs: 300,
    upstreams: { up: { url: workerAt(upstream), headers } },
    profiles: { brief: { resultBudget: { bytes: 1500 } } },
  });
  const policy = createRpcClient(stub, policyStore);
  const ring = await getSecretsRing({ SECRETS_KEY });
  if (typeof ring === "string") throw new TypeError(ring);
  const setSecret = async () => policy.setSecret("KEY", await sealSecret(ring, id, "KEY", "value-of-the-key"), ANN);
  await setSecret();
  const key = await createKey();
  await policy.addKey({ id: key.id, hash: key.hash, name: "k", scopes: null, profile: null, expires: null }, ANN);
  const ask = async (at: Env, { method, params }: UpstreamRequest) => {
    const sent = { jsonrpc: "2.0", id: 5, method, params };
    const authorization = `Bearer ${key.token}`;
    const response = await sendTo(worker, `${id}/brief`, { message: sent, headers: { authorization }, at });
    return { status: response.status, text: await response.text() };
  };
  const list = async () => (await ask(working, { method: "tools/list", params: {} })).text;
  await expect.poll(list, { timeout: 15_000 }).toContain("up__long");
  const call = { method: "tools/call", params: { name, arguments: {} } };
  const { text } = await ask(working, call);
  const uri = /tenantry:\/\/results\/[0-9a-f-]+/.exec(text)?.[0];
  const request = what === "call" ? call : { method: "resources/read", params: { uri } };
  return async (at: Env) => {
    // A new version of the policy, so that the secret is asked for again.
    await setSecret();
    await scheduler.wait(400);
    return Promise.race([
      ask(at, request),
      scheduler.wait(20_000).then(() => ({ status: 0, text: "nothing in 20 s" })),
    ]);
  };
}

/** What goes on beside may have asked before for what is to fail here: then the request did not need it, and is made again. */
async function whenMissed(ask: Awaited<ReturnType<typeof scene>>, step: string, fault: ObjectFault) {
  for (;;) {
    const requests: string[] = [];
    const answered = await ask(faulty(requests, step, fault));
    if (requests.includes(step)) return answered;
  }
}

/** What nobody waits for says nothing to the caller. */
const BESIDE = new Set(["gateway.claimDue"]);
const PATIENT = { timeout: 90_000 };

/** What is wanted is longer than any id, which may have three letters in a row by chance. */
const CASES = [
  ["call", "up__long", "a".repeat(600)],
  ["call", "long", "a".repeat(600)],
  ["read", "up__long", "c".repeat(600)],
] as const;

it.each(CASES)("a %s of %s is answered in time, and for what it is", PATIENT, async (what, name, wanted) => {
  const steps: string[] = [];
  expect((await (await scene(what, name))(faulty(steps))).text).toContain(wanted);
  expect(steps).toContain("policy.lease");
  expect(steps).toContain(what === "call" ? "results.put" : "results.get");
  if (name === "up__long" && what === "call") expect(steps).toContain("policy.sealedSecret");
  const cases = [...new Set(steps)].flatMap((step) => OBJECT_FAULTS.map((fault) => ({ step, fault })));
  const told = await Promise.all(
    cases.map(async ({ step, fault }) => {
      const { status, text } = await whenMissed(await scene(what, name), step, fault);
      const kind = text.includes(wanted)
        ? "the answer"
        : /Service unavailable|Temporarily unavailable|^nothing/.exec(text)?.[0];
      return { step, fault, status, said: kind ?? text.slice(0, 200) };
    }),
  );
  const expected = cases.map(({ step, fault }) => {
    if (step === "policy.lease") return { step, fault, status: 503, said: "Service unavailable" };
    // The tool has run: what it said is worth more than that not all of it could be kept.
    const isBeside = BESIDE.has(step) || step === "results.put" || (what === "read" && step === "policy.sealedSecret");
    return { step, fault, status: 200, said: isBeside ? "the answer" : "Temporarily unavailable" };
  });
  expect(told).toEqual(expected);
});
