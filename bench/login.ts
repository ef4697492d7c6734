// A tenant that takes tokens of an authorization server, and a load of calls with one. The server is in this process, is
// asked for its keys once, and goes when the process does.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { Load } from "./measure.ts";
import { callAs, makeTenant, type Send } from "./scenarios.ts";

const AUDIENCE = "bench";

export async function loadWithJwt(send: Send): Promise<Load> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const issuer = await publish({ ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" });
  const scopes = { claim: "scope", values: { add: ["sums"] } };
  await makeTenant(send, "signed", { mode: "oauth", auth: { issuers: [{ issuer, audience: [AUDIENCE], scopes }] } });
  const token = await new SignJWT({ scope: "add" })
    .setProtectedHeader({ alg: "ES256", kid: "one", typ: "at+jwt" })
    .setIssuer(issuer)
    .setSubject("bench")
    .setAudience(AUDIENCE)
    .setExpirationTime("2h")
    .sign(privateKey);
  return callAs("/mcp/signed", token);
}

async function publish(key: object): Promise<string> {
  const server = createServer(({ url }, response) => {
    const metadata = { issuer, jwks_uri: `${issuer}/keys`, response_types_supported: ["code"] };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(url === "/keys" ? { keys: [key] } : metadata));
  });
  server.unref();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;
}
