// Limits the bytes that one isolate holds for slow clients: request bodies, uploads, responses and waiting events. The
// caller answers a refused reservation with a retry hint.

/** An isolate has 128 MiB for everything, and serves other tenants too. */
export const MAX_RESERVED_BYTES = 64 * 1024 * 1024;
/** Reserved for small requests, so that a few large bodies do not turn away all ordinary calls. */
const SPARE_BYTES = 16 * 1024 * 1024;
/** A reservation up to this size is small. */
export const SMALL_BYTES = 64 * 1024;
/** An address whose reservations stay within this total may use the spare bytes. */
const SMALL_TOTAL_BYTES = 1024 * 1024;
/**
 * An invocation whose client left may end without a release. A reservation that was not touched for this long no longer
 * counts.
 */
export const STALE_AFTER_MS = 60_000;
const KEEP_ALIVE_MS = STALE_AFTER_MS / 4;
/** In seconds. By then most reservations are released, or were ended for being slow. */
export const MEMORY_RETRY_AFTER_S = 2;

export class MemoryBudget {
  readonly #reservations = new Set<MemoryReservation>();
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  /** `address`: the client address that the bytes are held for; "" if unknown. */
  createReservation(address = ""): MemoryReservation {
    return new MemoryReservation(this, address);
  }

  get total(): number {
    return this.#total;
  }

  reservedFor(address: string): number {
    return this.#byAddress.get(address) ?? 0;
  }

  /**
   * Whether this many more bytes fit now. No address may hold more than it leaves free, so there is always room for the
   * next one. One address gets half of the total, a second a quarter, and none locks the others out.
   */
  fits(bytes: number, small = bytes <= SMALL_BYTES, address = ""): boolean {
    const hasRoom = () => {
      const addressBytes = address === "" ? 0 : this.reservedFor(address) + bytes;
      const limit = small && addressBytes <= SMALL_TOTAL_BYTES ? MAX_RESERVED_BYTES + SPARE_BYTES : MAX_RESERVED_BYTES;
      return this.#total + bytes + addressBytes <= limit;
    };
    if (hasRoom()) return true;
    this.#releaseStale();
    return hasRoom();
  }

  /** For `MemoryReservation` only. */
  adjust(reservation: MemoryReservation, delta: number): void {
    this.#total += delta;
    if (reservation.bytes > 0) this.#reservations.add(reservation);
    else this.#reservations.delete(reservation);
    if (reservation.address === "") return;
    const addressBytes = this.reservedFor(reservation.address) + delta;
    if (addressBytes > 0) this.#byAddress.set(reservation.address, addressBytes);
    else this.#byAddress.delete(reservation.address);
  }

  #releaseStale(): void {
    const now = Date.now();
    for (const reservation of this.#reservations) {
      // If the clock was set back, the reservation's time begins again.
      reservation.lastUsed = Math.min(reservation.lastUsed, now);
      if (reservation.lastUsed < now - STALE_AFTER_MS) reservation.release();
    }
  }
}

/** The bytes that one request, upload or stream holds. */
export class MemoryReservation {
  readonly #budget: MemoryBudget;
  readonly address: string;
  bytes = 0;
  lastUsed = 0;
  #keepAlive: ReturnType<typeof setInterval> | undefined;

  constructor(budget: MemoryBudget, address: string) {
    this.#budget = budget;
    this.address = address;
  }

  /**
   * Sets how many bytes are held. Returns false, and changes nothing, if they do not fit. `force`: the bytes already
   * exist and count whether they fit or not.
   */
  resize(bytes: number, force = false): boolean {
    const delta = bytes - this.bytes;
    if (delta > 0 && !force && !this.#budget.fits(delta, bytes <= SMALL_BYTES, this.address)) return false;
    this.lastUsed = Date.now();
    if (delta === 0) return true;
    this.bytes = bytes;
    this.#budget.adjust(this, delta);
    if (bytes > SMALL_BYTES) this.#startKeepAlive();
    return true;
  }

  /** A call may take minutes and hold its body all that time. The timer ends with its invocation. */
  #startKeepAlive(): void {
    if (this.#keepAlive !== undefined) return;
    const timer = setInterval(() => {
      this.lastUsed = Date.now();
      // Another invocation may have released it, and cannot clear a timer of this one.
      if (this.bytes === 0) clearInterval(timer);
    }, KEEP_ALIVE_MS);
    this.#keepAlive = timer;
  }

  release(): void {
    const { bytes } = this;
    if (bytes === 0) return;
    this.bytes = 0;
    this.#budget.adjust(this, -bytes);
    if (this.#keepAlive !== undefined) clearInterval(this.#keepAlive);
    this.#keepAlive = undefined;
  }
}

/** One per isolate. Bound: MAX_RESERVED_BYTES and SPARE_BYTES; each reservation holds at least one byte. */
export const MEMORY_BUDGET = new MemoryBudget();
