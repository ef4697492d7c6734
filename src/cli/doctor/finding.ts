// Owns what an examination of an endpoint finds: a step that a client takes, how it went, and what mends it.

export interface Finding {
  readonly step: string;
  /** `note`: most clients do not mind. */
  readonly state: "ok" | "note" | "failed" | "skipped";
  readonly said: string;
  /** What to do; with every step that failed. */
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
