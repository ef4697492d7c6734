import { describe, expect, it } from "vitest";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import type {
  LeaseResponse,
  LeaseRequest,
  GrantedLease,
  DeprecatedName,
} from "../../../src/tenants/object/policy-records.ts";
import type { DocumentWrite, PolicyMethods } from "../../../src/tenants/object/policy-rpc.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { failureOf, freshTenant, withStore, type OpenedStore } from "../../support/workerd/tenant.ts";

const ANN = { name: "ann" };
const BOB = { name: "bob" };
const SLACK_MS = 100;

const ask = (about: Partial<LeaseRequest> = {}): LeaseRequest => ({
  version: null,
  maxStalenessMs: 1000,
  inCode: false,
  keyHash: null,
  ...about,
});

const writeOf = (own: TenantDocument, about: Partial<DocumentWrite> = {}): DocumentWrite => ({
  own,
  effective: own,
  deprecatedNames: [],
  ifRevision: null,
  actor: ANN,
  action: "apply",
  ...about,
});

function granted(answer: LeaseResponse): GrantedLease {
  if (answer.state !== "granted") throw new Error(`the lease is ${answer.state}`);
  return answer;
}

/** A tenant that was made with this document, with its store opened. */
function made(own: TenantDocument, work: (store: OpenedStore<PolicyMethods>) => void | Promise<void>): Promise<void> {
  return withStore(policyStore, (store) => {
    store.methods.create({ own, effective: own, actor: ANN, action: "create" });
    return work(store);
  });
}

describe("a lease", () => {
  it("carries the whole policy once, and nothing while it is current", async () => {
    await made({ title: "T" }, ({ methods }) => {
      const { version, created, policy } = granted(methods.lease(ask()));
      expect({ version, policy }).toEqual({
        version: 1,
        policy: { document: { title: "T" }, suspensions: [], deprecatedNames: [] },
      });
      const held = { number: version, created };
      expect(granted(methods.lease(ask({ version: held }))).policy).toBeNull();
      methods.write(writeOf({ title: "U" }));
      expect(granted(methods.lease(ask({ version: held })))).toMatchObject({
        version: 2,
        policy: { document: { title: "U" } },
      });
    });
  });

  it("carries everything to who holds the same version of another tenant that had the name", async () => {
    await made({ title: "second" }, ({ methods }) => {
      const version = { number: 1, created: "2020-01-01T00:00:00.000Z" };
      expect(granted(methods.lease(ask({ version }))).policy).toMatchObject({ document: { title: "second" } });
    });
  });

  it("of a tenant in code makes the tenant, of another one does not", async () => {
    await withStore(policyStore, ({ methods }) => {
      expect(methods.lease(ask())).toEqual({ state: "absent" });
      expect(methods.read(false)).toBeUndefined();
      // As the directory answers it when it notes the tenant.
      methods.takeBlocks({ version: 0, blocks: [] }, null);
      expect(granted(methods.lease(ask({ inCode: true }))).policy).toEqual({
        document: {},
        suspensions: [],
        deprecatedNames: [],
      });
      expect(methods.lease(ask()).state).toBe("granted");
      expect(methods.audit({ before: null, limit: 10 })).toEqual([]);
    });
  });

  it("carries suspensions, blocks and retired names", async () => {
    const retired: DeprecatedName[] = [
      { kind: "tools", profile: null, name: "old", target: "add", successor: "plus", until: 1e15 },
      { kind: "prompts", profile: "p", name: "old", target: "hi", successor: "new", until: 1e15 },
    ];
    await made({}, ({ methods, clock }) => {
      const since = new Date(clock.now).toISOString();
      methods.suspend({ kind: "principal", name: "key k", note: "k" }, ANN);
      methods.write(writeOf({ title: "T" }, { deprecatedNames: retired }));
      methods.takeBlocks({ version: 1, blocks: [{ name: "add", note: "b", since }] }, "");
      const { policy } = granted(methods.lease(ask()));
      expect(policy?.suspensions).toEqual([
        { kind: "principal", name: "key k", note: "k", since },
        { kind: "tool", name: "add", note: "b", since },
      ]);
      expect(policy?.deprecatedNames.toSorted((a, b) => (a.kind < b.kind ? 1 : -1))).toEqual(retired);
    });
  });

  it("is absent once the tenant is closed", async () => {
    await made({ maxStalenessMs: 700 }, ({ methods }) => {
      methods.lease(ask());
      expect(methods.close("")).toBe(700 + SLACK_MS);
      expect(methods.lease(ask())).toEqual({ state: "absent" });
      expect(methods.read(false)).toBeUndefined();
    });
  });
});

describe("a document", () => {
  it("is written, and its entry has the actor, the change and the time", async () => {
    await made({ title: "a" }, ({ methods, clock }) => {
      clock.now += 1000;
      const done = methods.write(writeOf({ title: "b" }, { actor: BOB, effective: { title: "b", search: true } }));
      expect(done).toMatchObject({ state: "written", revision: 2, leftMs: 0 });
      expect(methods.read(false)).toMatchObject({
        revision: 2,
        created: expect.stringMatching(/^2026-11-21T12:00:00\.000\d{3}Z$/) as string,
        own: { title: "b" },
        effective: { title: "b", search: true },
      });
      expect(methods.audit({ before: null, limit: 10 })).toEqual([
        {
          sequence: 2,
          at: "2026-11-21T12:00:01.000Z",
          actor: "bob",
          action: "apply",
          target: "document",
          before: { title: "a" },
          after: { title: "b" },
        },
        {
          sequence: 1,
          at: "2026-11-21T12:00:00.000Z",
          actor: "ann",
          action: "create",
          target: "tenant",
          before: null,
          after: { title: "a" },
        },
      ]);
    });
  });

  it("that is equal changes nothing and adds no entry", async () => {
    await made({ title: "a" }, ({ methods }) => {
      expect(methods.write(writeOf({ title: "a" }))).toMatchObject({ state: "unchanged", revision: 1 });
      expect(methods.audit({ before: null, limit: 10 })).toHaveLength(1);
    });
  });

  it("is a change where only what lies under it has changed", async () => {
    await made({ extends: ["base"] }, ({ methods }) => {
      const done = methods.write(writeOf({ extends: ["base"] }, { effective: { title: "from the base" } }));
      expect(done).toMatchObject({ state: "written", revision: 2 });
    });
  });

  it("is not written over what was not read", async () => {
    await made({ title: "a" }, ({ methods }) => {
      expect(methods.write(writeOf({ title: "b" }, { ifRevision: 7 }))).toMatchObject({
        state: "conflict",
        revision: 1,
      });
      expect(methods.write(writeOf({ title: "b" }, { ifRevision: 1 })).state).toBe("written");
      expect(methods.write(writeOf({ title: "c" }, { ifRevision: 1 }))).toMatchObject({
        state: "conflict",
        revision: 2,
      });
      expect(methods.read(false)?.own).toEqual({ title: "b" });
    });
  });

  it("is written by one of many who read the same revision", async () => {
    const { stub } = freshTenant();
    const policy = createRpcClient(stub, policyStore);
    await policy.create({ own: {}, effective: {}, actor: ANN, action: "create" });
    const titles = Array.from({ length: 10 }, (_none, at) => `title ${at}`);
    const done = await Promise.all(titles.map((title) => policy.write(writeOf({ title }, { ifRevision: 1 }))));
    expect(done.map(({ state }) => state).toSorted()).toEqual([...Array(9).fill("conflict"), "written"]);
  });

  it("of a tenant that is there already is not created again, one that is absent not written", async () => {
    await made({ title: "a" }, ({ methods }) => {
      const again = methods.create({ own: {}, effective: {}, actor: BOB, action: "create" });
      expect(again).toMatchObject({ state: "conflict", revision: 1 });
      expect(methods.read(false)?.own).toEqual({ title: "a" });
    });
    await withStore(policyStore, ({ methods }) => {
      expect(methods.write(writeOf({}))).toEqual({ state: "absent" });
      expect(methods.read(false)).toBeUndefined();
    });
  });

  it("is stored with its audit entry or not at all", async () => {
    const tenant = freshTenant();
    const policy = createRpcClient(tenant.stub, policyStore);
    await policy.create({ own: { title: "a" }, effective: { title: "a" }, actor: ANN, action: "create" });
    const broken = { ...writeOf({ title: "b" }), actor: { name: null } };
    expect(String(await failureOf(tenant, "policy.write", broken))).toContain("NOT NULL");
    expect(await policy.read(false)).toMatchObject({ revision: 1, own: { title: "a" } });
    expect(await policy.audit({ before: null, limit: 10 })).toHaveLength(1);
  });
});

describe("retired names", () => {
  const nameOf = (about: Partial<DeprecatedName> = {}): DeprecatedName => ({
    kind: "tools",
    profile: null,
    name: "old",
    target: "add",
    successor: "new",
    until: Date.UTC(2026, 11),
    ...about,
  });

  it("stay until their time is over, and go with the next write after it", async () => {
    await made({}, ({ methods, clock }) => {
      methods.write(writeOf({ title: "1" }, { deprecatedNames: [nameOf()] }));
      clock.now = nameOf().until;
      methods.write(writeOf({ title: "2" }));
      expect(methods.read(false)?.deprecatedNames).toEqual([nameOf()]);
      clock.now += 1;
      expect(methods.read(false)?.deprecatedNames).toEqual([nameOf()]);
      methods.write(writeOf({ title: "3" }));
      expect(methods.read(false)?.deprecatedNames).toEqual([]);
    });
  });

  it("that retire again start their time again", async () => {
    await made({}, ({ methods }) => {
      methods.write(writeOf({ title: "1" }, { deprecatedNames: [nameOf({ successor: "new" })] }));
      methods.write(writeOf({ title: "2" }, { deprecatedNames: [nameOf({ target: "greet", until: 1e15 })] }));
      expect(methods.read(false)?.deprecatedNames).toEqual([nameOf({ target: "greet", until: 1e15 })]);
    });
  });

  it("of one profile are not those of another, nor a prompt's those of a tool", async () => {
    const all = [nameOf(), nameOf({ profile: "p" }), nameOf({ profile: "q" }), nameOf({ kind: "prompts" })];
    await made({}, ({ methods }) => {
      methods.write(writeOf({ title: "1" }, { deprecatedNames: all }));
      expect(methods.read(false)?.deprecatedNames).toHaveLength(4);
    });
  });
});

describe("a suspension", () => {
  it.each([
    ["tenant", ""],
    ["profile", "small"],
    ["principal", "key 0123456789"],
    ["tool", "add"],
  ] as const)("of a %s is written and lifted, each with its entry", async (kind, name) => {
    await made({}, ({ methods, clock }) => {
      const since = new Date(clock.now).toISOString();
      const entry = { kind, name, note: "unpaid", since };
      expect(methods.suspend({ kind, name, note: "unpaid" }, ANN)).toMatchObject({ state: "written", revision: 2 });
      expect(methods.read(false)?.suspensions).toEqual([entry]);
      clock.now += 5;
      expect(methods.resume(kind, name, BOB)).toMatchObject({ state: "written", revision: 3 });
      expect(methods.read(false)?.suspensions).toEqual([]);
      const at = new Date(clock.now).toISOString();
      const target = `${kind} ${name}`;
      expect(methods.audit({ before: null, limit: 2 })).toMatchObject([
        { at, actor: "bob", action: "resume", target, before: entry, after: null },
        { at: since, actor: "ann", action: "suspend", target, before: null, after: { note: "unpaid" } },
      ]);
    });
  });

  it("that takes another's place says in its entry what was there before", async () => {
    await made({}, ({ methods }) => {
      methods.suspend({ kind: "tool", name: "add", note: "one" }, ANN);
      methods.suspend({ kind: "tool", name: "add", note: "two" }, BOB);
      expect(methods.read(false)?.suspensions).toMatchObject([{ note: "two" }]);
      expect(methods.audit({ before: null, limit: 1 })).toMatchObject([
        { actor: "bob", before: { kind: "tool", name: "add", note: "one" }, after: { note: "two" } },
      ]);
    });
  });

  it("that does not exist cannot be lifted, and adds no entry", async () => {
    await made({}, ({ methods }) => {
      methods.suspend({ kind: "tool", name: "add", note: "n" }, ANN);
      expect(methods.resume("profile", "add", ANN)).toMatchObject({ state: "unchanged", revision: 2 });
      expect(methods.read(false)?.suspensions).toHaveLength(1);
      expect(methods.audit({ before: null, limit: 10 })).toHaveLength(2);
    });
  });

  it("of a deleted tenant is absent, and nothing of it is stored", async () => {
    await made({}, ({ methods, sql }) => {
      methods.close("");
      expect(methods.suspend({ kind: "tool", name: "add", note: "n" }, ANN)).toEqual({ state: "absent" });
      expect(sql.exec("SELECT * FROM suspensions").toArray()).toEqual([]);
    });
  });

  it("waits for the leases that do not know it, the lifting too", async () => {
    await made({ maxStalenessMs: 400 }, ({ methods }) => {
      methods.lease(ask());
      const leftMs = 400 + SLACK_MS;
      expect(methods.suspend({ kind: "tool", name: "add", note: "n" }, ANN)).toMatchObject({ leftMs });
      expect(methods.resume("tool", "add", ANN)).toMatchObject({ leftMs });
    });
  });
});
