import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { seal, unseal } from "../../../src/auth/seal.ts";
import { authorityStore, KEY_LIFETIME_MS, KEY_SETTLING_MS } from "../../../src/tenants/object/authority-store.ts";
import { MAX_STALENESS_MS } from "../../../src/tenants/document/tenant-document.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { freshTenant, withStore } from "../../support/workerd/tenant.ts";

describe("the key ring", () => {
  it("is made with the first lease and stays", async () => {
    await withStore(authorityStore, ({ methods, clock }) => {
      const { ring } = methods.state();
      expect(ring).toHaveLength(1);
      expect(ring[0]?.secret).toHaveLength(32);
      clock.now += KEY_LIFETIME_MS;
      expect(methods.state().ring).toEqual(ring);
    });
  });

  it("keeps the two newest keys, however often it is rotated", async () => {
    await withStore(authorityStore, ({ methods, clock, sql }) => {
      const seen = new Set<string>();
      for (let rotation = 0; rotation < 5; rotation += 1) {
        const ids = methods.state().ring.map(({ id }) => id);
        expect(ids).toHaveLength(rotation === 0 ? 1 : 2);
        for (const id of ids) seen.add(id);
        clock.now += KEY_LIFETIME_MS + 1;
      }
      expect(seen.size).toBe(5);
      expect(sql.exec("SELECT count(*) AS kept FROM sealing_keys").one().kept).toBe(2);
    });
  });

  it("publishes a new key before it seals, so that every isolate can open what it seals", async () => {
    await withStore(authorityStore, ({ methods, clock }) => {
      const [old] = methods.state().ring;
      clock.now += KEY_LIFETIME_MS + 1;
      const settling = methods.state().ring;
      expect(settling[0]?.id).toBe(old?.id);
      clock.now += KEY_SETTLING_MS;
      expect(methods.state().ring).toEqual(settling.toReversed());
    });
  });

  it("seals with a new key only when no lease from before it can last any more", async () => {
    await withStore(authorityStore, async ({ methods, clock }) => {
      methods.state();
      clock.now += KEY_LIFETIME_MS;
      // An isolate whose tenant has the longest lease there is.
      const { ring: leased } = methods.state();
      clock.now += 1;
      methods.state();
      clock.now += MAX_STALENESS_MS - 2;
      const sealed = await seal(methods.state().ring, "test", "text");
      expect(await unseal(leased, "test", sealed)).toBe("text");
    });
  });

  it("opens what a key sealed for as long again as it sealed", async () => {
    await withStore(authorityStore, async ({ methods, clock }) => {
      const sealed = await seal(methods.state().ring, "test", "text");
      clock.now += KEY_LIFETIME_MS + 1;
      expect(await unseal(methods.state().ring, "test", sealed)).toBe("text");
      clock.now += KEY_LIFETIME_MS;
      expect(await unseal(methods.state().ring, "test", sealed)).toBe("text");
      clock.now += 1;
      expect(await unseal(methods.state().ring, "test", sealed)).toBeUndefined();
    });
  });

  it("is the same after an eviction and another one for each tenant", async () => {
    const tenant = freshTenant();
    const { ring } = await createRpcClient(tenant.stub, authorityStore).state();
    await evictDurableObject(tenant.object);
    expect((await createRpcClient(tenant.stub, authorityStore).state()).ring).toEqual(ring);
    const other = await createRpcClient(freshTenant().stub, authorityStore).state();
    expect(other.ring[0]?.id).not.toBe(ring[0]?.id);
    expect(other.ring[0]?.secret).not.toEqual(ring[0]?.secret);
  });

  it("is one ring for all who ask at once", async () => {
    const { stub } = freshTenant();
    const leases = await Promise.all(Array.from({ length: 10 }, () => createRpcClient(stub, authorityStore).state()));
    expect(new Set(leases.map(({ ring }) => ring.map(({ id }) => id).join())).size).toBe(1);
  });
});

describe("seeded", () => {
  it("is false until it is marked", async () => {
    await withStore(authorityStore, ({ methods }) => {
      expect(methods.state().seeded).toBe(false);
      methods.markSeeded();
      methods.markSeeded();
      expect(methods.state().seeded).toBe(true);
    });
  });
});

describe("claim", () => {
  it("is given to one of many who ask at once", async () => {
    const tenant = freshTenant();
    const authority = createRpcClient(tenant.stub, authorityStore);
    const expires = Date.now() + 60_000;
    const claims = await Promise.all(Array.from({ length: 20 }, () => authority.claim("nonce", "pay", expires)));
    expect(claims.filter(({ state }) => state === "claimed")).toHaveLength(1);
    expect(claims.filter(({ state }) => state === "unknown")).toHaveLength(19);
  });

  it("returns the outcome once it is settled", async () => {
    await withStore(authorityStore, ({ methods, clock }) => {
      const claim = () => methods.claim("nonce", "pay", clock.now + 1000);
      expect(claim()).toEqual({ state: "claimed" });
      expect(claim()).toEqual({ state: "unknown" });
      methods.settle("nonce", "pay", '{"receipt":7}');
      expect(claim()).toEqual({ state: "settled", value: '{"receipt":7}' });
    });
  });

  it("is its own for each nonce and name", async () => {
    await withStore(authorityStore, ({ methods, clock }) => {
      const expires = clock.now + 1000;
      expect(methods.claim("one", "pay", expires).state).toBe("claimed");
      expect(methods.claim("two", "pay", expires).state).toBe("claimed");
      expect(methods.claim("one", "mail", expires).state).toBe("claimed");
      methods.settle("one", "pay", "1");
      expect(methods.claim("two", "pay", expires)).toEqual({ state: "unknown" });
    });
  });

  it("cannot be settled by who never made it", async () => {
    await withStore(authorityStore, ({ methods, clock }) => {
      methods.settle("nonce", "pay", "1");
      expect(methods.claim("nonce", "pay", clock.now + 1000)).toEqual({ state: "claimed" });
    });
  });

  it("survives an eviction", async () => {
    const tenant = freshTenant();
    const authority = createRpcClient(tenant.stub, authorityStore);
    const expires = Date.now() + 60_000;
    await authority.claim("nonce", "pay", expires);
    await evictDurableObject(tenant.object);
    expect(await authority.claim("nonce", "pay", expires)).toEqual({ state: "unknown" });
  });

  it("holds up to its expiry and is deleted after it", async () => {
    await withStore(authorityStore, ({ methods, clock, sql }) => {
      const expires = clock.now + 1000;
      methods.claim("nonce", "pay", expires);
      methods.settle("nonce", "pay", '"secret"');
      clock.now = expires;
      expect(methods.claim("nonce", "pay", expires).state).toBe("settled");
      clock.now += 1;
      methods.claim("another", "pay", expires + 1000);
      expect(sql.exec("SELECT nonce FROM once_claims").toArray()).toEqual([{ nonce: "another" }]);
    });
  });
});
