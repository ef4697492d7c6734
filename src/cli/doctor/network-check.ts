// The checks below HTTP: the URL's scheme, DNS, the connection, and TLS with its certificate. Each check runs only if
// the previous one succeeded.

import { lookup } from "node:dns/promises";
import { connect as connectTcp } from "node:net";
import { connect as connectTls, type PeerCertificate, type TLSSocket } from "node:tls";
import { isLoopbackUrl } from "../../connect/recipes/recipe.ts";
import { failed, note, ok, type Finding } from "./finding.ts";

const TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;
/** OpenSSL's error codes for an answer in plain text. */
const NO_TLS = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;
/** Renewal by ACME happens well before this. */
const EXPIRES_SOON_DAYS = 14;

/** Stops after the first failed check. */
export async function checkNetwork(url: URL): Promise<Finding[]> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const findings = [checkScheme(url)];
  const checks = [() => checkDns(host), () => checkTcp(host, port)];
  if (url.protocol === "https:") checks.push(() => checkTls(host, port));
  for (const check of checks) {
    const finding = await check();
    findings.push(finding);
    if (finding.state === "failed") break;
  }
  return findings;
}

function checkScheme({ href, protocol }: URL): Finding {
  if (protocol === "https:") return ok("url", href);
  if (isLoopbackUrl(href)) return ok("url", `${href}, on this machine`);
  const fix = "Serve it over https: most clients accept http only for localhost, and keys are sent unencrypted.";
  return note("url", `${href} is http`, fix);
}

async function checkDns(host: string): Promise<Finding> {
  try {
    const addresses = await lookup(host, { all: true });
    return ok("dns", addresses.map(({ address }) => address).join(", "));
  } catch (error) {
    const fix =
      "Check the spelling. If it is right, add the name to your DNS zone, or a route for it to the configuration of the Worker.";
    return failed("dns", `${host} has no address (${codeOf(error)})`, fix);
  }
}

async function checkTcp(host: string, port: number): Promise<Finding> {
  const socket = connectTcp({ host, port });
  try {
    await waitForEvent(socket, "connect");
    return ok("tcp", `port ${port} accepts connections`);
  } catch (error) {
    const fix = "Check that the server runs at this port. A firewall or VPN may block it.";
    return failed("tcp", `port ${port} does not accept connections (${codeOf(error)})`, fix);
  } finally {
    socket.destroy();
  }
}

async function checkTls(host: string, port: number): Promise<Finding> {
  // SNI lets the server choose its certificate. An IP address is not a valid SNI name.
  const socket = connectTls({ host, port, ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }) });
  try {
    await waitForEvent(socket, "secureConnect");
    return checkCertificate(socket, socket.getPeerCertificate());
  } catch (error) {
    if (NO_TLS.test(codeOf(error))) {
      const fix = "Use http:// instead of https://, or the port that speaks TLS.";
      return failed("tls", `port ${port} does not speak TLS (${codeOf(error)})`, fix);
    }
    const fix = "Clients refuse it, too: correct the certificate or its chain, or get a certificate for this name.";
    return failed("tls", `no trusted certificate (${codeOf(error)})`, fix);
  } finally {
    socket.destroy();
  }
}

function checkCertificate(socket: TLSSocket, { valid_to: validTo }: PeerCertificate): Finding {
  const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
  const detail = `${socket.getProtocol() ?? "TLS"}, the certificate is valid for ${days} days`;
  if (days >= EXPIRES_SOON_DAYS) return ok("tls", detail);
  return note("tls", detail, "Renew the certificate.");
}

function waitForEvent(socket: ReturnType<typeof connectTcp>, event: "connect" | "secureConnect"): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve).once("error", reject);
    socket.setTimeout(TIMEOUT_MS, () => reject(Object.assign(new Error("timeout"), { code: "ETIMEDOUT" })));
  });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
