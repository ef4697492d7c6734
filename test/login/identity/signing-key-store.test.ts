import { describe, expect, it } from "vitest";
import { signingKeyStore, type SigningKeyMethods } from "../../../src/login/identity/signing-key-store.ts";
import { freshTenant, withStore, type OpenedStore } from "../../support/workerd/tenant.ts";

const SECRETS_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const OTHER_KEY = "BAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface OpenedSigningKeyStore extends OpenedStore<SigningKeyMethods> {
  /** The id of the key that signs now. */
  readonly signer: () => Promise<string>;
  readonly published: () => Promise<string[]>;
}

function withSigningKeyStore<R>(
  work: (store: OpenedSigningKeyStore) => Promise<R>,
  key = SECRETS_KEY,
  tenant = freshTenant(),
): Promise<R> {
  return withStore(
    signingKeyStore,
    (store) => {
      const { methods } = store;
      const signer = async () => {
        const signing = await methods.getSigningKey();
        return signing === "unset" ? signing : signing.kid;
      };
      const kidOf = (jwk: string) => (JSON.parse(jwk) as { kid: string }).kid;
      return work({ ...store, signer, published: async () => (await methods.listPublicKeys()).map(kidOf) });
    },
    { tenant, env: { SECRETS_KEY: key } },
  );
}

describe("the keys with which a tenant signs", () => {
  it("begin with one, however many ask for it at the same time", () =>
    withSigningKeyStore(async ({ signer, published }) => {
      const signers = await Promise.all(Array.from({ length: 20 }, signer));
      expect(new Set(signers).size).toBe(1);
      expect(await published()).toEqual([signers[0]]);
    }));

  it("are published for who verifies, without what signs", () =>
    withSigningKeyStore(async ({ methods, sql }) => {
      const signing = await methods.getSigningKey();
      if (signing === "unset") throw new Error("there is no key");
      const [published = ""] = await methods.listPublicKeys();
      const { kid, jwk } = signing;
      const { x, y, d } = jwk;
      expect(JSON.parse(published)).toEqual({ kty: "EC", crv: "P-256", x, y, kid, alg: "ES256", use: "sig" });
      expect(d).toMatch(/^[\w-]{43}$/);
      expect(JSON.stringify(sql.exec("SELECT * FROM login_signing_keys").toArray())).not.toContain(d);
    }));

  it("are replaced after 30 days: the next one is published for an hour before it signs, the last one for a day after", () =>
    withSigningKeyStore(async ({ signer, published, clock }) => {
      const first = await signer();
      clock.now += 30 * DAY - 2 * HOUR;
      expect(await signer()).toBe(first);
      clock.now += HOUR;
      expect(await signer()).toBe(first);
      const [second = "", ...before] = await published();
      expect(before).toEqual([first]);
      clock.now += HOUR - 1;
      expect(await signer()).toBe(first);
      clock.now += 1;
      expect(await signer()).toBe(second);
      expect(await published()).toEqual([second, first]);
      clock.now += DAY - 1;
      expect(await published()).toEqual([second, first]);
      clock.now += 1;
      expect(await published()).toEqual([second]);
    }));

  it("are three at most", () =>
    withSigningKeyStore(async ({ signer, sql, clock }) => {
      for (let month = 0; month < 6; month += 1) {
        await signer();
        clock.now += 31 * DAY;
      }
      expect(sql.exec("SELECT count(*) AS count FROM login_signing_keys").one()).toEqual({ count: 3 });
    }));

  it("that were sealed under another SECRETS_KEY are replaced at once, and stay published for a day", async () => {
    const tenant = freshTenant();
    const first = await withSigningKeyStore(({ signer }) => signer(), SECRETS_KEY, tenant);
    const second = await withSigningKeyStore(
      async ({ signer, published, clock }) => {
        const other = await signer();
        expect(await published()).toEqual([other, first]);
        clock.now += DAY;
        expect(await published()).toEqual([other]);
        return other;
      },
      OTHER_KEY,
      tenant,
    );
    expect(await withSigningKeyStore(({ signer }) => signer(), `${SECRETS_KEY},${OTHER_KEY}`, tenant)).toBe(second);
  });

  it.each(["", "broken"])("do not exist without a valid SECRETS_KEY: %o", (key) =>
    withSigningKeyStore(async ({ signer, published, sql }) => {
      expect([await signer(), await published()]).toEqual(["unset", []]);
      expect(sql.exec("SELECT * FROM login_signing_keys").toArray()).toEqual([]);
    }, key),
  );
});
