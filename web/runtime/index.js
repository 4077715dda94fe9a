// The module Python imports as `nibblegrad_runtime`. Knows buffers and records, never ops or shapes.
import { openDevice } from "./adapter.js";
import { Gpu } from "./device.js";
import { Sources } from "./source.js";

/**
 * @param {{files?: Map<string, Blob>, readFile?: (path: string) => Uint8Array,
 *   tokenizer?: (json: string) => Promise<unknown>}} [host] what the embedding page offers
 */
export function createRuntime(host = {}) {
  /** @type {Gpu | undefined} */
  let gpu;
  const need = () => {
    if (!gpu) throw new Error("no device is open; call requestDevice first");
    return gpu;
  };
  const sources = new Sources(host, () => need());
  return {
    requestDevice: async (/** @type {string} */ json) => {
      const { adapter, device } = await openDevice(JSON.parse(json || "{}"));
      gpu = new Gpu(adapter, device);
      return JSON.stringify(gpu.info);
    },
    alloc: (/** @type {number} */ n) => need().pool.alloc(n),
    release: (/** @type {number} */ id) => gpu?.pool.release(id),
    trim: () => need().trim(),
    stats: () => JSON.stringify(need().stats()),
    destroy: () => gpu?.device.destroy(),
    /** @type {(label: string, wgsl: string, layout: string, overrides: string) => number} */
    pipeline: (label, wgsl, layout, overrides) => need().pipeline(label, wgsl, layout, overrides),
    /** @type {(pipeline: number, bytes: Uint8Array) => number} */
    bind: (pipeline, bytes) => need().bind(pipeline, bytes),
    /** @type {(records: Uint8Array, params: Uint8Array) => boolean} */
    submit: (records, params) => need().submit(records, params),
    /** @type {(records: Uint8Array, params: Uint8Array) => number} */
    install: (records, params) => need().install(records, params),
    /** @type {(plan: number, step: Uint8Array) => void} */
    replay: (plan, step) => need().replay(plan, step),
    drop: (/** @type {number} */ plan) => need().drop(plan),
    /** @type {(id: number, offset: number, bytes: Uint8Array) => void} */
    write: (id, offset, bytes) => need().write(id, offset, bytes),
    /** @type {(id: number, offset: number, size: number) => Promise<Uint8Array>} */
    read: (id, offset, size) => need().read(id, offset, size),
    openSource: (/** @type {string} */ where) => sources.open(where),
    /** @type {(id: number, offset: number, size: number) => Promise<Uint8Array>} */
    readSource: (id, offset, size) => sources.read(id, offset, size),
    /** @type {(id: number, offset: number, size: number, buffer: number, at: number, progress?: (n: number) => void) => Promise<void>} */
    streamSource: (id, offset, size, buffer, at, progress) =>
      sources.stream(id, offset, size, buffer, at, progress),
    tokenizer: (/** @type {string} */ json) => {
      if (!host.tokenizer) throw new Error("this page offers no tokenizer");
      return host.tokenizer(json);
    },
    now: () => performance.now(),
  };
}
