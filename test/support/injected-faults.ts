// What fails on a bad day, as the fixture Worker that makes it fail and the test that judges it both have it.

export type InjectedFaultKind =
  | "failed once"
  | "answer lost"
  | "overloaded"
  | "hung"
  | "reset"
  | "KV failed"
  | "KV 429"
  | "KV absent"
  | "subrequests";

export interface InjectedFault {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** `TenantObject policy.lease`, `HubObject fetch`, `BODIES put`. */
  readonly call: string;
  readonly kind: InjectedFaultKind;
  /** Whether an object or the run of a stored call made the call: on nobody's behalf, as far as can be known here. */
  readonly isInner: boolean;
}

/** What happens once to the next call of this name, and nothing else: for a test of one fault. */
export type FaultsOnce = Readonly<Record<string, InjectedFaultKind>>;

export interface Plan {
  readonly seed: number;
  /** Of every so many calls one fails, beside those that each name has once. */
  readonly every: number;
  /** For how long KV says that there is nothing, where there was nothing when it was asked. */
  readonly absentMs: number;
}
