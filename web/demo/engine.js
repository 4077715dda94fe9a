// Starts the worker and speaks to it; events go to whoever listens. Knows no page.
import * as Comlink from "comlink";

/** @typedef {import("../runtime/worker.js").WorkerEvent} WorkerEvent */
/** @typedef {{pyodideUrl: string, wheelUrl: string, packages?: string[]}} BootOptions */

const FATAL = "worker: it ended by itself";

export class Engine {
  /** @type {Set<(event: WorkerEvent) => any>} */
  listeners = new Set();
  /** Written by the page, read by Python: 2 is Ctrl-C. @type {Int32Array | undefined} */
  interrupts;

  constructor() {
    this.thread = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    /** @type {any} */
    this.worker = Comlink.wrap(this.thread);
    this.ended = new Promise((_, reject) => {
      this.thread.onerror = (event) =>
        reject(new Error(`${FATAL}: ${event.message || "no reason given"}`));
    });
    this.ended.catch(() => undefined); // told through call()
  }

  /** A call to the worker, which fails when the worker ends. @param {string} name @param {...any} args */
  call(name, ...args) {
    return Promise.race([this.worker[name](...args), this.ended]);
  }

  /** @param {BootOptions} options */
  boot(options) {
    const interrupt = self.crossOriginIsolated ? new SharedArrayBuffer(4) : undefined;
    if (interrupt) this.interrupts = new Int32Array(interrupt);
    const tell = (/** @type {WorkerEvent} */ event) => this.listeners.forEach((f) => f(event));
    return this.call("boot", { ...options, interrupt }, Comlink.proxy(tell));
  }

  /** Ctrl-C, also for Python that only waits. @param {boolean} [force] */
  interrupt(force) {
    if (this.interrupts && !force) this.interrupts[0] = 2;
    return this.call("interrupt", force);
  }
}
