// The keys with which a tenant signs tokens for its own API: created here, sealed by the Worker's SECRETS_KEY, and
// rotated before the old key expires. Isolates do the signing.

import { seal, toBase64Url, unseal, type KeyRing } from "../../auth/seal.ts";
import { getSecretsRing, type SecretsKeyEnv } from "../../auth/secrets-key.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import type { Store } from "../../tenants/object/store.ts";

const DAY_MS = 86_400_000;
const ROTATE_AFTER_MS = 30 * DAY_MS;
/** Verifiers cache keys for a while: a new key is published before it signs, and the previous key stays published. */
const PUBLISH_AHEAD_MS = 3_600_000;
const MAX_KEYS = 3;

export interface SigningKey {
  readonly kid: string;
  readonly jwk: JsonWebKey;
}

export interface SigningKeyMethods {
  /** "unset": the Worker has no usable SECRETS_KEY. */
  getSigningKey(): Promise<SigningKey | "unset">;
  /** Each as a JSON Web Key. Empty before the tenant may sign. */
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
  name: "login-signing-keys",
  methods: { getSigningKey: {}, listPublicKeys: { idempotent: true } },
  migrations: [
    `CREATE TABLE login_signing_keys (kid TEXT PRIMARY KEY, public TEXT NOT NULL, private TEXT NOT NULL,
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
  return sql
    .exec<KeyRow>("SELECT kid, public, private, created FROM login_signing_keys ORDER BY created DESC, kid")
    .toArray();
}

async function getSigningKey(host: TenantHost): Promise<SigningKey | "unset"> {
  const ring = await getSecretsRing(host.env as SecretsKeyEnv);
  if (typeof ring === "string") return "unset";
  const { newest, key, isDue } = await readKeys(host, ring);
  if (key && !isDue) return key;
  await addKey(host, ring, { newest, isNeeded: key === undefined });
  return (await readKeys(host, ring)).key ?? "unset";
}

/** `key`: the current signing key; undefined if none can be unsealed. `isDue`: a new key must be created. */
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

/** The previous keys, as long as their signatures may be verified, and the next key. */
function publicKeysOf(host: TenantHost): readonly string[] {
  const rows = rowsOf(host);
  const { created = 0 } = signerOf(rows, host.now()) ?? {};
  const isNew = host.now() < created + PUBLISH_AHEAD_MS + DAY_MS;
  return rows.filter((row) => isNew || row.created >= created).map((row) => row.public);
}

interface NewKeyOptions {
  /** The newest key at the time of the read. */
  readonly newest: string | undefined;
  /** True if no existing key can sign, for example after a change of SECRETS_KEY. The new key then signs at once. */
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
    // A concurrent call may have added a key.
    if (rowsOf(host)[0]?.kid !== newest || host.deletion.isClosed()) return;
    if (isNeeded) host.sql.exec("UPDATE login_signing_keys SET created = 0");
    const created = host.now() - (isNeeded ? PUBLISH_AHEAD_MS : 0);
    const insert = "INSERT INTO login_signing_keys (kid, public, private, created) VALUES (?, ?, ?, ?)";
    host.sql.exec(insert, kid, jwk, sealed, created);
    const newestKids = "SELECT kid FROM login_signing_keys ORDER BY created DESC, kid LIMIT ?";
    host.sql.exec(`DELETE FROM login_signing_keys WHERE kid NOT IN (${newestKids})`, MAX_KEYS);
  });
}

function purposeOf(host: TenantHost, kid: string): string {
  return `login key ${host.tenant} ${kid}`;
}
