// Owns how many bytes one isolate holds at a time for what its clients send slowly or do not read: request bodies,
// uploads, answers and events that wait. Refuses what does not fit; who is refused answers that the client may come again.

/** An isolate has 128 MiB for everything, and other tenants are served from the same one. */
export const MAX_HELD_BYTES = 64 * 1024 * 1024;
/** Kept free for who holds little, so that a few large bodies do not turn away all ordinary calls. */
const SPARE_BYTES = 16 * 1024 * 1024;
/** So much is little. */
export const SMALL_BYTES = 64 * 1024;
/** So much is little of all that is held for one address. */
const LITTLE_BYTES = 1024 * 1024;
/** Invocations whose client left end without releasing: what was not touched for so long no longer counts. */
export const SILENT_MS = 60_000;
const TOUCH_MS = SILENT_MS / 4;
/** In seconds: most of what is held is gone by then, or was ended for being slow. */
export const ROOM_AFTER_S = 2;

export class HeldBytes {
  readonly #shares = new Set<HeldShare>();
  readonly #byHolder = new Map<string, number>();
  #total = 0;

  /** `holder`: the address for which it is held; "" where that is not known. */
  open(holder = ""): HeldShare {
    return new HeldShare(this, holder);
  }

  get total(): number {
    return this.#total;
  }

  /** What is held for this address. */
  of(holder: string): number {
    return this.#byHolder.get(holder) ?? 0;
  }

  /**
   * Whether so many bytes more would be let in now. Nobody holds more than they leave free, so there is always room for
   * who comes next: one address gets half of it all, the second a quarter, and none turns the others away.
   */
  fits(more: number, small = more <= SMALL_BYTES, holder = ""): boolean {
    const isRoom = () => {
      const theirs = holder === "" ? 0 : this.of(holder) + more;
      const most = small && theirs <= LITTLE_BYTES ? MAX_HELD_BYTES + SPARE_BYTES : MAX_HELD_BYTES;
      return this.#total + more + theirs <= most;
    };
    if (isRoom()) return true;
    this.#forgetSilent();
    return isRoom();
  }

  /** For shares alone. */
  count(share: HeldShare, more: number): void {
    this.#total += more;
    if (share.bytes > 0) this.#shares.add(share);
    else this.#shares.delete(share);
    if (share.holder === "") return;
    const theirs = this.of(share.holder) + more;
    if (theirs > 0) this.#byHolder.set(share.holder, theirs);
    else this.#byHolder.delete(share.holder);
  }

  #forgetSilent(): void {
    const now = Date.now();
    for (const share of this.#shares) {
      // Where the clock was set back, its time begins again.
      share.touched = Math.min(share.touched, now);
      if (share.touched < now - SILENT_MS) share.release();
    }
  }
}

/** What one request, upload or stream holds. */
export class HeldShare {
  readonly #of: HeldBytes;
  readonly holder: string;
  bytes = 0;
  touched = 0;
  #touching: ReturnType<typeof setInterval> | undefined;

  constructor(of: HeldBytes, holder: string) {
    this.#of = of;
    this.holder = holder;
  }

  /**
   * Holds so many bytes from now on. false: they do not fit, and it holds what it held. `anyway`: they are there, and
   * count whether they fit or not.
   */
  resize(bytes: number, anyway = false): boolean {
    const more = bytes - this.bytes;
    if (more > 0 && !anyway && !this.#of.fits(more, bytes <= SMALL_BYTES, this.holder)) return false;
    this.touched = Date.now();
    if (more === 0) return true;
    this.bytes = bytes;
    this.#of.count(this, more);
    if (bytes > SMALL_BYTES) this.#stay();
    return true;
  }

  /** A call may take minutes, and hold all that while what it came with. A timer ends with its invocation. */
  #stay(): void {
    if (this.#touching !== undefined) return;
    const timer = setInterval(() => {
      this.touched = Date.now();
      // It may have been released in another invocation, which has no say in the timers of this one.
      if (this.bytes === 0) clearInterval(timer);
    }, TOUCH_MS);
    this.#touching = timer;
  }

  release(): void {
    const { bytes } = this;
    if (bytes === 0) return;
    this.bytes = 0;
    this.#of.count(this, -bytes);
    if (this.#touching !== undefined) clearInterval(this.#touching);
    this.#touching = undefined;
  }
}

/** Of this isolate. Bound: MAX_HELD_BYTES and SPARE_BYTES, of which each share holds one at least. */
export const HELD = new HeldBytes();
