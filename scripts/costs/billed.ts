// The shape of the table of what each kind of request costs. `billed.json` is that table: a test counts it.

/** What Cloudflare charges for, as often as it happened; what is not there did not happen. */
export interface Bill {
  /** Calls, `fetch` and ringing alarms of objects. */
  readonly objectCalls?: number;
  /** Messages that objects receive by WebSocket; those that they send are free. */
  readonly socketMessages?: number;
  readonly rowsRead?: number;
  /** Without those of alarms. */
  readonly rowsWritten?: number;
  readonly kvReads?: number;
  readonly kvWrites?: number;
  readonly kvDeletes?: number;
  readonly kvLists?: number;
  /** Each writes a row. */
  readonly alarmsSet?: number;
}

/** `atOnce`: until everything that the request began is over; `later`: by alarms, within the hour after it. */
export interface BilledKind {
  /** Requests to the Worker. */
  readonly requests: number;
  readonly atOnce: Bill;
  readonly later: Bill;
}

export type BilledTable = Readonly<Record<string, BilledKind>>;
