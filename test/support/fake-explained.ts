// Owns what the admin API's double says of why somebody sees something: whoever names a profile does not.

import type { Explained, Infer } from "../../src/admin/contract.ts";

export function fakeExplained(query: URLSearchParams): Infer<typeof Explained> {
  const profile = query.get("profile");
  const visible = profile === null;
  const reasons = [
    `${query.get("kind")} ${query.get("name")}`,
    visible ? "no profile" : `profile ${profile} denies it`,
  ];
  return { visible, callable: visible, listedAs: visible ? query.get("name") : null, reasons };
}
