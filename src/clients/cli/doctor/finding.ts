// Owns what an examination of an endpoint finds: a step that a client takes, how it went, and what mends it.

export interface Finding {
  readonly step: string;
  /** `note`: most clients do not mind. */
  readonly state: "ok" | "note" | "failed" | "skipped";
  readonly said: string;
  /** What to do; with every step that failed. */
  readonly mend?: string;
}

export function ok(step: string, said: string): Finding {
  return { step, state: "ok", said };
}

export function note(step: string, said: string, mend: string): Finding {
  return { step, state: "note", said, mend };
}

export function failed(step: string, said: string, mend: string): Finding {
  return { step, state: "failed", said, mend };
}

export function skipped(step: string, said: string): Finding {
  return { step, state: "skipped", said };
}

export function hasFailed(findings: readonly Finding[]): boolean {
  return findings.some(({ state }) => state === "failed");
}
