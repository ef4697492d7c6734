// A finding of `tenantry doctor`: a step of a client, its result, and how to fix it.

export interface Finding {
  readonly step: string;
  /** `note`: most clients work despite it. */
  readonly state: "ok" | "note" | "failed" | "skipped";
  readonly said: string;
  /** How to fix it; present for every failed step. */
  readonly mend?: string;
}

export function ok(step: string, detail: string): Finding {
  return { step, state: "ok", said: detail };
}

export function note(step: string, detail: string, fix: string): Finding {
  return { step, state: "note", said: detail, mend: fix };
}

export function failed(step: string, detail: string, fix: string): Finding {
  return { step, state: "failed", said: detail, mend: fix };
}

export function skipped(step: string, detail: string): Finding {
  return { step, state: "skipped", said: detail };
}

export function hasFailed(findings: readonly Finding[]): boolean {
  return findings.some(({ state }) => state === "failed");
}
