// The rows of a session's stored calls: the call, the events of its stream in order, and the questions to the client
// with their answers. Bounded in calls, events and bytes. Stored texts are never parsed here.

/** Longer texts are stored and sent in parts of this length, because a row may have at most 2 MB. */
const PART_CHARACTERS = 400_000;
const MAX_CALLS = 50;
export const MAX_QUESTIONS = 100;
/**
 * The log of one call, with its record. Beyond this, notifications are dropped; questions and the result are always
 * stored.
 */
const MAX_EVENT_CHARACTERS = 4_000_000;
const MAX_EVENTS = 2000;
/** The most that all calls of a session may store when another one is added. */
const MAX_SESSION_CHARACTERS = 32_000_000;
/** How long a finished call is kept, so that a client that reconnects can read the rest of its log. */
const FINISHED_CALL_RETENTION_MS = 600_000;
/** How long a cancellation of an unknown request is kept: it may arrive before the request that it cancels. */
export const CANCELLATION_RETENTION_MS = 60_000;
const MAX_CANCELLED = 1000;
/** A call's record is stored as event number 0. The first event has number 1. */
const RECORD_SEQ = 0;

export interface NewCall {
  readonly key: string;
  /** As `requestKey` makes it from the JSON-RPC id. */
  readonly request: string;
  /** JSON of everything that another run needs. */
  readonly record: string;
  /** JSON of the response if the call cannot be completed. */
  readonly fallback: string;
  /** How many notifications the call sent before it was stored. */
  readonly notificationCount: number;
  /** Whether the call may run again after a run was lost. */
  readonly repeatable: boolean;
}

export interface NewQuestion {
  readonly id: string;
  readonly name: string;
  readonly digest: string;
  /** The event that sends the question to the client. */
  readonly json: string;
}

export interface KnownQuestion {
  readonly digest: string;
  readonly id: string;
  /** JSON of the client's response; null: there is none yet. */
  readonly answer: string | null;
}

export interface StoredCall {
  [column: string]: SqlStorageValue;
  key: string;
  request: string;
  fallback: string;
  attempt: number;
  memos: string;
  /** When the call ended, in milliseconds since the epoch; null: it has not. */
  finished_at: number | null;
  /** When its end was last sent to a viewer; null: never. */
  result_sent_at: number | null;
  /** 1: the last run stopped to wait for the client, whose answer starts the next run. */
  parked: number;
  /** How many runs were lost since the client last answered a question. */
  lost_runs: number;
  /** How many notifications the call sent, counted over all runs. */
  notifications: number;
  /** 1: the call may run again after a run was lost. */
  repeatable: number;
  /** The number of the last event. */
  last_seq: number;
  characters: number;
}

export interface StoredEvent {
  readonly seq: number;
  readonly part: string;
  readonly last: boolean;
}

export class CallStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  find(key: string): StoredCall | undefined {
    return this.#sql.exec<StoredCall>("SELECT * FROM calls WHERE key = ?", key).toArray()[0];
  }

  all(): readonly StoredCall[] {
    return this.#sql.exec<StoredCall>("SELECT * FROM calls").toArray();
  }

  unfinished(): readonly StoredCall[] {
    return this.#sql.exec<StoredCall>("SELECT * FROM calls WHERE finished_at IS NULL").toArray();
  }

  /** false: the session has no room for the call. */
  add({ key, request, record, fallback, notificationCount, repeatable }: NewCall): boolean {
    while (!this.#hasRoom(record.length)) if (!this.#dropOldest()) return false;
    this.#sql.exec(
      `INSERT INTO calls (key, request, fallback, repeatable, attempt, memos, finished_at, notifications, last_seq, characters)
       VALUES (?, ?, ?, ?, 1, '{}', NULL, ?, ?, ?)`,
      key,
      request,
      fallback,
      repeatable ? 1 : 0,
      notificationCount,
      RECORD_SEQ,
      record.length,
    );
    this.#write(key, RECORD_SEQ, record);
    return true;
  }

  #hasRoom(more: number): boolean {
    const { calls, characters } = this.#sql
      .exec<{ calls: number; characters: number | null }>(
        "SELECT count(*) AS calls, sum(characters) AS characters FROM calls",
      )
      .one();
    return calls < MAX_CALLS && (characters ?? 0) + more <= MAX_SESSION_CHARACTERS;
  }

  /** Deletes one finished call, first those whose end was sent to a viewer. false: there is none. */
  #dropOldest(): boolean {
    const [deleted] = this.#sql
      .exec<{ key: string }>(
        "DELETE FROM calls WHERE key = (SELECT key FROM calls WHERE finished_at IS NOT NULL ORDER BY result_sent_at IS NULL, finished_at LIMIT 1) RETURNING key",
      )
      .toArray();
    if (deleted) this.#deleteRows(deleted.key);
    return deleted !== undefined;
  }

  #deleteRows(key: string): void {
    this.#sql.exec("DELETE FROM events WHERE call = ? OR call IN (SELECT id FROM questions WHERE call = ?)", key, key);
    this.#sql.exec("DELETE FROM questions WHERE call = ?", key);
  }

  record(key: string): string {
    return this.events(key, RECORD_SEQ - 1, RECORD_SEQ)
      .map(({ part }) => part)
      .join("");
  }

  /**
   * Returns the number of the new event; undefined: dropped, because the log is full. `always`: must not be dropped.
   */
  append(call: StoredCall, json: string, always: boolean): number | undefined {
    const full = call.last_seq >= MAX_EVENTS || call.characters + json.length > MAX_EVENT_CHARACTERS;
    if (full && !always) return undefined;
    const seq = call.last_seq + 1;
    this.#sql.exec(
      "UPDATE calls SET last_seq = ?, characters = characters + ? WHERE key = ?",
      seq,
      json.length,
      call.key,
    );
    this.#write(call.key, seq, json);
    return seq;
  }

  /** Records that notification number `count` was sent. false: this run or an earlier one sent it before. */
  countNotification(call: StoredCall, count: number): boolean {
    if (count <= call.notifications) return false;
    this.#sql.exec("UPDATE calls SET notifications = ? WHERE key = ?", count, call.key);
    return true;
  }

  #write(key: string, seq: number, text: string): void {
    for (let at = 0; at === 0 || at < text.length;) {
      const end = cutIndex(text, at + PART_CHARACTERS);
      const part = text.slice(at, end);
      this.#sql.exec("INSERT INTO events (call, seq, position, part) VALUES (?, ?, ?, ?)", key, seq, at, part);
      at = end;
    }
  }

  events(key: string, after: number, upTo = Number.MAX_SAFE_INTEGER): readonly StoredEvent[] {
    const rows = this.#sql
      .exec<{ seq: number; part: string }>(
        "SELECT seq, part FROM events WHERE call = ? AND seq > ? AND seq <= ? ORDER BY seq, position",
        key,
        after,
        upTo,
      )
      .toArray();
    return rows.map(({ seq, part }, index) => ({ seq, part, last: rows[index + 1]?.seq !== seq }));
  }

  nextAttempt(key: string): number {
    return this.#sql
      .exec<{ attempt: number }>(
        "UPDATE calls SET attempt = attempt + 1, parked = 0 WHERE key = ? RETURNING attempt",
        key,
      )
      .one().attempt;
  }

  park(key: string): void {
    this.#sql.exec("UPDATE calls SET parked = 1 WHERE key = ?", key);
  }

  /** Counts a lost run. Returns how many were lost in a row. */
  countLostRun(key: string): number {
    return this.#sql
      .exec<{ lost_runs: number }>("UPDATE calls SET lost_runs = lost_runs + 1 WHERE key = ? RETURNING lost_runs", key)
      .one().lost_runs;
  }

  saveMemos(key: string, memos: string): void {
    this.#sql.exec("UPDATE calls SET memos = ? WHERE key = ?", memos, key);
  }

  /** Records that the call's end was sent to a viewer. */
  setResultSent(key: string, now: number): void {
    this.#sql.exec("UPDATE calls SET result_sent_at = ? WHERE key = ?", now, key);
  }

  finish(key: string, now: number): void {
    this.#sql.exec("UPDATE calls SET finished_at = ? WHERE key = ?", now, key);
    this.#sql.exec("DELETE FROM events WHERE call = ? AND seq = ?", key, RECORD_SEQ);
  }

  /** Stores and returns the questions that are new; undefined: the call would have too many. */
  addQuestions(call: string, questions: readonly NewQuestion[]): readonly NewQuestion[] | undefined {
    const { asked } = this.#sql
      .exec<{ asked: number }>("SELECT count(*) AS asked FROM questions WHERE call = ?", call)
      .one();
    const added = questions.filter(({ name, digest }) => {
      const query = "SELECT 1 FROM questions WHERE call = ? AND name = ? AND digest = ?";
      return this.#sql.exec(query, call, name, digest).toArray().length === 0;
    });
    if (asked + added.length > MAX_QUESTIONS) return undefined;
    for (const { id, name, digest } of added) {
      this.#sql.exec("INSERT INTO questions (id, call, name, digest) VALUES (?, ?, ?, ?)", id, call, name, digest);
    }
    return added;
  }

  /** Records which event of the log sends the question to the client. */
  setQuestionSeq(id: string, seq: number): void {
    this.#sql.exec("UPDATE questions SET seq = ? WHERE id = ?", seq, id);
  }

  isQuestion(call: string, seq: number): boolean {
    return this.#sql.exec("SELECT 1 FROM questions WHERE call = ? AND seq = ? LIMIT 1", call, seq).toArray().length > 0;
  }

  /** The number of the event with the first unanswered question. */
  firstOpenQuestion(call: string): number | undefined {
    const { seq } = this.#sql
      .exec<{ seq: number | null }>("SELECT min(seq) AS seq FROM questions WHERE call = ? AND answer IS NULL", call)
      .one();
    return seq ?? undefined;
  }

  question(id: string): { readonly call: string; readonly answer: string | null } | undefined {
    return this.#sql
      .exec<{ call: string; answer: string | null }>("SELECT call, answer FROM questions WHERE id = ?", id)
      .toArray()[0];
  }

  /**
   * The part of the answer that does not fit into the question's row is stored like an event, under the question's id.
   */
  saveAnswer(id: string, call: string, answer: string): void {
    const end = cutIndex(answer, PART_CHARACTERS);
    this.#sql.exec("UPDATE questions SET answer = ? WHERE id = ?", answer.slice(0, end), id);
    if (end < answer.length) this.#write(id, RECORD_SEQ, answer.slice(end));
    this.#sql.exec("UPDATE calls SET lost_runs = 0 WHERE key = ?", call);
  }

  /** Every question of the call, with its answer if there is one. */
  answers(call: string): KnownQuestion[] {
    return this.#sql
      .exec<{ digest: string; id: string; answer: string | null }>(
        "SELECT digest, id, answer FROM questions WHERE call = ?",
        call,
      )
      .toArray()
      .map(({ answer, ...row }) => ({ ...row, answer: answer && answer + this.record(row.id) }));
  }

  hasOpenQuestions(call: string): boolean {
    return (
      this.#sql.exec("SELECT 1 FROM questions WHERE call = ? AND answer IS NULL LIMIT 1", call).toArray().length > 0
    );
  }

  clear(): void {
    for (const table of ["calls", "events", "questions", "cancelled_requests"]) this.#sql.exec(`DELETE FROM ${table}`);
  }

  addCancelled(request: string, now: number): void {
    this.#sql.exec("DELETE FROM cancelled_requests WHERE expires <= ?", now);
    const { many } = this.#sql.exec<{ many: number }>("SELECT count(*) AS many FROM cancelled_requests").one();
    if (many >= MAX_CANCELLED) return;
    this.#sql.exec(
      "INSERT OR REPLACE INTO cancelled_requests (request, expires) VALUES (?, ?)",
      request,
      now + CANCELLATION_RETENTION_MS,
    );
  }

  takeCancelled(request: string, now: number): boolean {
    return (
      this.#sql
        .exec("DELETE FROM cancelled_requests WHERE request = ? AND expires > ? RETURNING request", request, now)
        .toArray().length > 0
    );
  }

  /**
   * Deletes finished calls after their retention. Returns when the next one is due, in milliseconds since the epoch.
   */
  prune(now: number): number | undefined {
    const deleted = this.#sql
      .exec<{ key: string }>("DELETE FROM calls WHERE finished_at <= ? RETURNING key", now - FINISHED_CALL_RETENTION_MS)
      .toArray();
    for (const { key } of deleted) this.#deleteRows(key);
    const { next } = this.#sql.exec<{ next: number | null }>("SELECT min(finished_at) AS next FROM calls").one();
    return next === null ? undefined : next + FINISHED_CALL_RETENTION_MS;
  }
}

/**
 * Returns where to cut: at `at`, or one earlier if that would split a surrogate pair, which storage would not preserve.
 */
function cutIndex(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}
