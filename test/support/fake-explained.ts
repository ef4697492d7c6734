// Owns what the admin API's double says of why somebody sees something: whoever names a profile does not.

import type { Explained, Infer } from "../../src/admin/contract.ts";

export function fakeExplained(query: URLSearchParams): Infer<typeof Explained> {
  const profile = query.get("profile");
  const name = query.get("name") ?? "";
  if (name.startsWith("barred__")) {
    const reasons = [
      "tenant: takes a key, and none is named",
      "source barred: the connection was lost since 2026-11-21, x",
    ];
    const [decides = ""] = reasons;
    const unknown = ["principal: no key is named, so what limits one is not known"];
    return { visible: false, callable: false, listedAs: null, reasons, decidedBy: [decides], unknown };
  }
  const visible = profile === null;
  const reasons = [
    `${query.get("kind")} ${query.get("name")}`,
    visible ? "no profile" : `profile ${profile} denies it`,
  ];
  return { visible, callable: visible, listedAs: visible ? query.get("name") : null, reasons };
}
