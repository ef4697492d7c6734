// The names of clients and people on pages, and how far they can be trusted.

import type { LoginClient } from "../server/login-records.ts";
import type { ProviderIdentity } from "../sign-in/identity-provider-client.ts";
import { sanitizeText } from "./sanitize-text.ts";

export type ClientSummary = Pick<LoginClient, "id" | "kind" | "name">;

export function clientName({ name }: Pick<ClientSummary, "name">): string {
  return sanitizeText(name, 60) || "A client without a name";
}

/**
 * The host that published the client's name; undefined for a client that registered itself under a name of its choice.
 */
export function publisherHostOf({ id, kind }: Pick<ClientSummary, "id" | "kind">): string | undefined {
  return kind === "document" && URL.canParse(id) ? new URL(id).host : undefined;
}

/** The destination after consent, and whether a program on this computer waits there. */
export function describeRedirect(redirect: string): readonly [isLoopback: boolean, text: string] {
  const { protocol, host, hostname } = new URL(redirect);
  if (!/^https?:$/.test(protocol)) return [false, `the app that opens links of ${sanitizeText(protocol)}`];
  const isLoopback = /^(127(\.\d+){3}|localhost|\[::1\])$/.test(hostname);
  return [isLoopback, isLoopback ? `${host}, a program on this computer` : host];
}

/** The person's name as they know it. */
export function personName({ issuer, subject, name = "", email = "" }: ProviderIdentity): string {
  if (issuer === "key") return `the key ${sanitizeText(subject)}`;
  const label = sanitizeText(name);
  const address = sanitizeText(email, 120);
  return address && label && address !== label ? `${label} (${address})` : address || label || sanitizeText(subject);
}
