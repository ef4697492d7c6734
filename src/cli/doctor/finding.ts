// A finding of `tenantry doctor`: a check, its result, and how to fix it.

export interface Finding {
  readonly check: string;
  /** `note`: most clients work despite it. */
  readonly state: "ok" | "note" | "failed" | "skipped";
  readonly detail: string;
  /** How to fix it; present for every failed check. */
  readonly fix?: string;
}

export function ok(check: string, detail: string): Finding {
  return { check, state: "ok", detail };
}

export function note(check: string, detail: string, fix: string): Finding {
  return { check, state: "note", detail, fix };
}

export function failed(check: string, detail: string, fix: string): Finding {
  return { check, state: "failed", detail, fix };
}

export function skipped(check: string, detail: string): Finding {
  return { check, state: "skipped", detail };
}

export function hasFailed(findings: readonly Finding[]): boolean {
  return findings.some(({ state }) => state === "failed");
}
