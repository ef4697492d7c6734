// What the admin API's double says of why somebody sees something: whoever names a profile does not.

import type { Explanation, Infer } from "../../src/admin/contract.ts";

export function fakeExplained(query: URLSearchParams): Infer<typeof Explanation> {
  const profile = query.get("profile");
  const name = query.get("name") ?? "";
  if (name.startsWith("barred__")) {
    // In words that no server says: whoever asks goes by the codes.
    const [decides, away] = ["a key is what it takes", "barred went fishing"];
    const reasons = [decides, away];
    const unknown = ["principal: no key is named, so its limits are unknown"];
    const causes = [
      { reason: decides, code: "key-required" },
      { reason: away, code: "connection-lost", source: "barred" },
      { reason: away, code: "secret-missing", source: "barred", name: "TOKEN" },
    ] as const;
    const none = { visible: false, callable: false, listedAs: null };
    return { ...none, reasons, decidedBy: [decides], unknown, causes: [...causes] };
  }
  const visible = profile === null;
  const reasons = [
    `${query.get("kind")} ${query.get("name")}`,
    visible ? "no profile" : `profile ${profile} denies it`,
  ];
  return { visible, callable: visible, listedAs: visible ? query.get("name") : null, reasons };
}
