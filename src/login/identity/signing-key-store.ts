// Owns the keys with which a tenant signs tokens for its own API: made here, sealed by the Worker's SECRETS_KEY, replaced
// while the key before is still good. Refuses to sign: isolates do.

import { seal, toBase64Url, unseal, type KeyRing } from "../../auth/seal.ts";
import { getSecretsRing, type SecretsKeyEnv } from "../../auth/secrets-key.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import type { Store } from "../../tenants/object/store.ts";

const DAY_MS = 86_400_000;
const ROTATE_AFTER_MS = 30 * DAY_MS;
/** Whoever verifies remembers keys for a while: a new one is published before it signs, and the one before stays. */
const PUBLISH_AHEAD_MS = 3_600_000;
const MAX_KEYS = 3;

export interface SigningKey {
  readonly kid: string;
  readonly jwk: JsonWebKey;
}

export interface SigningKeyMethods {
  /** "unset": the Worker has no SECRETS_KEY that can be used. */
  getSigningKey(): Promise<SigningKey | "unset">;
  /** Each as a JSON Web Key; none before the tenant may sign. */
  listPublicKeys(): Promise<readonly string[]>;
}

interface KeyRow {
  [column: string]: SqlStorageValue;
  kid: string;
  public: string;
  private: string;
  created: number;
}

export const signingKeyStore: Store<SigningKeyMethods, TenantHost> = {
  name: "login_keys",
  methods: { getSigningKey: {}, listPublicKeys: { idempotent: true } },
  migrations: [
    `CREATE TABLE login_keys (kid TEXT PRIMARY KEY, public TEXT NOT NULL, private TEXT NOT NULL,
       created INTEGER NOT NULL) WITHOUT ROWID`,
  ],
  open: (host) => ({
    methods: {
      getSigningKey: () => getSigningKey(host),
      listPublicKeys: async () => {
        await getSigningKey(host);
        return publicKeysOf(host);
      },
    },
  }),
};

/** The newest first. */
function rowsOf({ sql }: TenantHost): readonly KeyRow[] {
  return sql.exec<KeyRow>("SELECT kid, public, private, created FROM login_keys ORDER BY created DESC, kid").toArray();
}

async function getSigningKey(host: TenantHost): Promise<SigningKey | "unset"> {
  const ring = await getSecretsRing(host.env as SecretsKeyEnv);
  if (typeof ring === "string") return "unset";
  const { newest, key, isDue } = await readKeys(host, ring);
  if (key && !isDue) return key;
  await addKey(host, ring, { newest, isNeeded: key === undefined });
  return (await readKeys(host, ring)).key ?? "unset";
}

/** `key`: the one that signs now; undefined: there is none that can be opened. `isDue`: another one shall be made. */
async function readKeys(host: TenantHost, ring: KeyRing) {
  const rows = rowsOf(host);
  const [newest] = rows;
  const row = signerOf(rows, host.now());
  const text = row && (await unseal(ring, purposeOf(host, row.kid), row.private));
  const key = row && text !== undefined ? { kid: row.kid, jwk: JSON.parse(text) as JsonWebKey } : undefined;
  return { newest: newest?.kid, key, isDue: !newest || newest.created + ROTATE_AFTER_MS <= host.now() };
}

function signerOf(rows: readonly KeyRow[], now: number): KeyRow | undefined {
  return rows.find(({ created }) => created + PUBLISH_AHEAD_MS <= now) ?? rows.at(-1);
}

/** The ones before, for as long as what they signed may be verified, and the one that comes next. */
function publicKeysOf(host: TenantHost): readonly string[] {
  const rows = rowsOf(host);
  const { created = 0 } = signerOf(rows, host.now()) ?? {};
  const isNew = host.now() < created + PUBLISH_AHEAD_MS + DAY_MS;
  return rows.filter((row) => isNew || row.created >= created).map((row) => row.public);
}

interface NewKeyOptions {
  /** The newest key that was seen before. */
  readonly newest: string | undefined;
  /** No other one can sign, as when they were sealed by another SECRETS_KEY: it signs at once. */
  readonly isNeeded: boolean;
}

async function addKey(host: TenantHost, ring: KeyRing, { newest, isNeeded }: NewKeyOptions): Promise<void> {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const { privateKey, publicKey } = pair as CryptoKeyPair;
  const kid = toBase64Url(crypto.getRandomValues(new Uint8Array(12)));
  const { kty, crv, x, y } = (await crypto.subtle.exportKey("jwk", publicKey)) as JsonWebKey;
  const secret = JSON.stringify(await crypto.subtle.exportKey("jwk", privateKey));
  const sealed = await seal(ring, purposeOf(host, kid), secret);
  const jwk = JSON.stringify({ kty, crv, x, y, kid, alg: "ES256", use: "sig" });
  host.transaction(() => {
    // Somebody else may have made one meanwhile.
    if (rowsOf(host)[0]?.kid !== newest || host.deletion.isClosed()) return;
    if (isNeeded) host.sql.exec("UPDATE login_keys SET created = 0");
    const created = host.now() - (isNeeded ? PUBLISH_AHEAD_MS : 0);
    const insert = "INSERT INTO login_keys (kid, public, private, created) VALUES (?, ?, ?, ?)";
    host.sql.exec(insert, kid, jwk, sealed, created);
    const kept = "SELECT kid FROM login_keys ORDER BY created DESC, kid LIMIT ?";
    host.sql.exec(`DELETE FROM login_keys WHERE kid NOT IN (${kept})`, MAX_KEYS);
  });
}

function purposeOf(host: TenantHost, kid: string): string {
  return `login key ${host.tenant} ${kid}`;
}
