// Owns how a webhook is signed, by the rules of Standard Webhooks: https://www.standardwebhooks.com

const PREFIX = "whsec_";

/** `secret`: `whsec_` and Base64, or any text. Of two with a blank between them each signs, while one takes the other's place. Rejects where there is none, or one that is no Base64. */
export async function createWebhookHeaders(
  secret: string,
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
): Promise<Record<string, string>> {
  const secrets = secret.split(/\s+/).filter((one) => one !== "");
  if (secrets.length === 0) throw new TypeError("there is no secret");
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
