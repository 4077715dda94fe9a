// Storage buffers by integer id, pooled by size class, every byte counted.

const USAGE = 0x0004 | 0x0008 | 0x0080; // COPY_SRC | COPY_DST | STORAGE

/** Four size classes a power of two, steps of 256 bytes to 4 MiB. @param {number} bytes */
export function sizeClass(bytes) {
  const size = Math.max(256, bytes);
  const step = Math.min(2 ** 22, Math.max(256, 2 ** (Math.floor(Math.log2(size)) - 2)));
  return Math.ceil(size / step) * step;
}

export class Pool {
  /** @param {GPUDevice} device @param {(message: string) => void} fail */
  constructor(device, fail) {
    this.device = device;
    this.fail = fail;
    /** @type {(GPUBuffer | undefined)[]} */
    this.buffers = [undefined];
    /** @type {Map<number, number[]>} */
    this.free = new Map();
    this.counts = { live: 0, peak: 0, pooled: 0, buffers: 0 };
  }

  /** @param {number} bytes */
  alloc(bytes) {
    const size = sizeClass(bytes);
    const list = this.free.get(size);
    const found = list?.pop();
    if (found !== undefined) this.counts.pooled -= size;
    const id = found ?? this.create(size);
    this.counts.live += size;
    this.counts.peak = Math.max(this.counts.peak, this.counts.live + this.counts.pooled);
    return id;
  }

  /** @param {number} size */
  create(size) {
    this.device.pushErrorScope("out-of-memory");
    this.device.pushErrorScope("validation");
    const buffer = this.device.createBuffer({ size, usage: USAGE });
    for (const kind of ["validation", "memory"])
      this.device.popErrorScope().then(
        (error) => error && this.fail(`no ${kind} for a buffer of ${size} bytes: ${error.message}`),
        () => {}, // a lost device says so elsewhere
      );
    this.counts.buffers += 1;
    return this.buffers.push(buffer) - 1;
  }

  /** @param {number} id */
  release(id) {
    const buffer = this.buffers[id];
    if (!buffer) return;
    this.counts.live -= buffer.size;
    this.counts.pooled += buffer.size;
    const list = this.free.get(buffer.size) ?? [];
    list.push(id);
    this.free.set(buffer.size, list);
  }

  /** @param {number} id */
  get(id) {
    const buffer = this.buffers[id];
    if (!buffer) throw new Error(`buffer ${id} does not exist; it was released`);
    return buffer;
  }

  /** Destroy what is pooled. */
  trim() {
    for (const list of this.free.values())
      for (const id of list) {
        this.counts.pooled -= this.get(id).size;
        this.counts.buffers -= 1;
        this.get(id).destroy();
        this.buffers[id] = undefined;
      }
    this.free.clear();
  }
}
