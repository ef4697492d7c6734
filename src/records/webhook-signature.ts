// Signs webhook messages as Standard Webhooks specifies: https://www.standardwebhooks.com

const PREFIX = "whsec_";

/**
 * `secret`: `whsec_` and Base64, or any text. During a rotation it contains two secrets with a space between them, and
 * each signs. Rejects if the secret is empty, or if the Base64 is invalid.
 */
export async function createWebhookHeaders(
  secret: string,
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
): Promise<Record<string, string>> {
  const secrets = secret.split(/\s+/).filter((one) => one !== "");
  if (secrets.length === 0) throw new TypeError("the secret is empty");
  const signatures = await Promise.all(secrets.map((one) => signatureOf(one, `${id}.${seconds}.${body}`)));
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}

async function signatureOf(secret: string, text: string): Promise<string> {
  const hash = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", keyOf(secret), hash, false, ["sign"]);
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text)));
  return `v1,${btoa(String.fromCharCode(...bytes))}`;
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  if (!secret.startsWith(PREFIX)) return Uint8Array.from(new TextEncoder().encode(secret));
  return Uint8Array.from(atob(secret.slice(PREFIX.length)), (character) => character.codePointAt(0) ?? 0);
}
