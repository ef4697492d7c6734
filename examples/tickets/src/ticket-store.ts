// Owns the tickets in D1: every statement names the company, so that no tool can reach another one's.

export interface Ticket {
  id: number;
  title: string;
  state: "open" | "closed";
  due: string | null;
}

export interface Page {
  readonly tickets: Ticket[];
  /** Where the next page begins; absent: there is none. */
  readonly next?: number;
}

const COLUMNS = "id, title, state, due";

export class TicketStore {
  readonly #db: D1Database;
  readonly #company: string;

  constructor(db: D1Database, company: string) {
    this.#db = db;
    this.#company = company;
  }

  async list(after = 0, limit = 20): Promise<Page> {
    const found = await this.#db
      .prepare(`SELECT ${COLUMNS} FROM tickets WHERE company = ? AND id > ? ORDER BY id LIMIT ?`)
      .bind(this.#company, after, limit + 1)
      .all<Ticket>();
    const tickets = found.results.slice(0, limit);
    const last = tickets.at(-1);
    return last && found.results.length > limit ? { tickets, next: last.id } : { tickets };
  }

  find(id: number): Promise<Ticket | null> {
    return this.#db
      .prepare(`SELECT ${COLUMNS} FROM tickets WHERE company = ? AND id = ?`)
      .bind(this.#company, id)
      .first<Ticket>();
  }

  async open(title: string, due: string): Promise<Ticket> {
    const made = await this.#db
      .prepare(`INSERT INTO tickets (company, title, due) VALUES (?, ?, ?) RETURNING ${COLUMNS}`)
      .bind(this.#company, title, due)
      .first<Ticket>();
    if (!made) throw new Error("D1 returned no row");
    return made;
  }

  /** False: there is no such open ticket. */
  async close(id: number): Promise<boolean> {
    const { meta } = await this.#db
      .prepare("UPDATE tickets SET state = 'closed' WHERE company = ? AND id = ? AND state = 'open'")
      .bind(this.#company, id)
      .run();
    return meta.changes > 0;
  }

  async note(ticket: number, what: string, who: string): Promise<void> {
    await this.#db.prepare("INSERT INTO history (ticket, what, who) VALUES (?, ?, ?)").bind(ticket, what, who).run();
  }
}

export interface Overdue {
  readonly company: string;
  readonly ids: number[];
}

/** Of all companies, for the cron job: which of their open tickets were due before a day. */
export async function companiesWithOverdue(db: D1Database, today: string): Promise<Overdue[]> {
  const { results } = await db
    .prepare("SELECT company, group_concat(id) AS ids FROM tickets WHERE state = 'open' AND due < ? GROUP BY company")
    .bind(today)
    .all<{ company: string; ids: string }>();
  return results.map(({ company, ids }) => ({ company, ids: ids.split(",").map(Number) }));
}
