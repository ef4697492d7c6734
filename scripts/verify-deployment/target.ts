// Where a deployment is verified: a Cloudflare account, or workerd on this machine.

/** `next` is the release after `first`, with a migration of the tenant's object that `first` does not know. */
export type Release = "first" | "next";

/** What the bill counts, since the deployment was made. */
export interface Counters {
  readonly requests: number;
  readonly objectCalls: number;
  readonly kvReads: number;
  readonly kvWrites: number;
}

/** What this target cannot tell, and why. */
export interface Skipped {
  readonly skipped: string;
}

export interface Target {
  readonly name: string;
  readonly adminToken: string;
  /** Hosts that a tenant's upstream may name: the Worker itself is one. */
  origin(): string;
  /** The last lines of the Worker's log, or where they are. */
  log(): Promise<string>;
  /** Puts this release in the place of what runs. Resolves when it answers. Throws what the tool printed. */
  deploy(release: Release): Promise<void>;
  /** Puts `first` back in the place of `next`. */
  rollback(): Promise<void>;
  /** Of evaluating the modules. */
  startupMs(): Promise<number | Skipped>;
  /** Waits until they count what was asked until now. */
  counters(atLeastRequests: number): Promise<Counters | Skipped>;
  /** Deletes what was made. Runs more than once without harm. */
  cleanUp(): Promise<void>;
}

export interface TargetOptions {
  /** For files that are made. */
  readonly folder: string;
  /** Absolute paths. */
  readonly worker: string;
  readonly next: string;
  readonly config: string;
}

export interface Outcome {
  readonly check: string;
  readonly result: "passed" | "failed" | "skipped";
  readonly detail: string;
}

/** The header by which an answer names the release that made it. */
export const RELEASE_HEADER = "x-verified-release";
