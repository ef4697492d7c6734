// Owns what people are told of a client and of themselves: by which names, and how far those can be relied on.

import type { LoginClient } from "../server/login-records.ts";
import type { ProviderIdentity } from "../sign-in/identity-provider-client.ts";
import { sanitizeText } from "./sanitize-text.ts";

export type ClientSummary = Pick<LoginClient, "id" | "kind" | "name">;

export function clientName({ name }: Pick<ClientSummary, "name">): string {
  return sanitizeText(name, 60) || "A client without a name";
}

/** The host that vouches for its name; undefined: it registered itself, under a name of its choice. */
export function publisherHostOf({ id, kind }: Pick<ClientSummary, "id" | "kind">): string | undefined {
  return kind === "document" && URL.canParse(id) ? new URL(id).host : undefined;
}

/** Where somebody is sent who allows it, and whether a program on this computer waits there. */
export function describeRedirect(redirect: string): readonly [isLoopback: boolean, shown: string] {
  const { protocol, host, hostname } = new URL(redirect);
  if (!/^https?:$/.test(protocol)) return [false, `the app that opens links of ${sanitizeText(protocol)}`];
  const isLoopback = /^(127(\.\d+){3}|localhost|\[::1\])$/.test(hostname);
  return [isLoopback, isLoopback ? `${host}, a program on this computer` : host];
}

/** As they know themselves. */
export function personName({ issuer, subject, name = "", email = "" }: ProviderIdentity): string {
  if (issuer === "key") return `the key ${sanitizeText(subject)}`;
  const label = sanitizeText(name);
  const address = sanitizeText(email, 120);
  return address && label && address !== label ? `${label} (${address})` : address || label || sanitizeText(subject);
}
