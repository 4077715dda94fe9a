// A file or URL read in ranges, and streamed to a GPU buffer: weights never enter the WASM heap.

/**
 * @typedef {{size: number, blob?: Blob, url?: string, path?: string}} Source
 * @typedef {{files?: Map<string, Blob>, readFile?: (path: string) => Uint8Array}} Host
 */

export class Sources {
  /** @param {Host} host @param {() => {write(id: number, offset: number, bytes: Uint8Array): void,
   *   device: GPUDevice}} gpu */
  constructor(host, gpu) {
    this.host = host;
    this.gpu = gpu;
    /** @type {Source[]} */
    this.open_ = [];
  }

  /** @param {string} where a path known to the page, or a URL */
  async open(where) {
    const blob = this.host.files?.get(where);
    const source = blob ? { size: blob.size, blob } : await this.locate(where);
    return JSON.stringify({ id: this.open_.push(source) - 1, size: source.size });
  }

  /** @param {string} where @returns {Promise<Source>} */
  async locate(where) {
    if (!/^(https?|blob|data):/.test(where)) return { size: this.file(where).length, path: where };
    const head = await fetch(where, { headers: { Range: "bytes=0-0" } });
    if (!head.ok) throw new Error(`${where}: the server answered ${head.status}`);
    const total = head.headers.get("Content-Range")?.split("/")[1];
    if (head.status === 206 && total) {
      await head.body?.cancel();
      return { size: Number(total), url: where };
    }
    const blob = await head.blob(); // a server without ranges: the whole file, outside the heap
    return { size: blob.size, blob };
  }

  /** A file of Python's own file system. @param {string} path */
  file(path) {
    try {
      return /** @type {any} */ (this.host).readFile(path);
    } catch {
      throw new Error(`there is no file '${path}'`); // Emscripten's own error is no Error
    }
  }

  /** @param {number} id @param {number} offset @param {number} size */
  async body(id, offset, size) {
    const { blob, url, path } = this.open_[id];
    if (blob) return blob.slice(offset, offset + size).stream();
    if (path !== undefined) {
      const bytes = this.file(path).slice(offset, offset + size);
      return new Blob([bytes]).stream();
    }
    const range = `bytes=${offset}-${offset + size - 1}`;
    const response = await fetch(/** @type {string} */ (url), { headers: { Range: range } });
    if (response.status !== 206 || !response.body)
      throw new Error(`${url}: asked for a range, the server answered ${response.status}`);
    return response.body;
  }

  /** @param {number} id @param {number} offset @param {number} size */
  async read(id, offset, size) {
    const body = await this.body(id, offset, Math.min(size, this.open_[id].size - offset));
    return new Uint8Array(await new Response(body).arrayBuffer());
  }

  /** @param {number} id @param {number} offset @param {number} size @param {number} buffer
   * @param {number} at @param {(n: number) => void} [progress] */
  async stream(id, offset, size, buffer, at, progress) {
    const reader = (await this.body(id, offset, size)).getReader();
    let carry = new Uint8Array(0);
    let done = 0;
    for (;;) {
      const next = await reader.read();
      const end = next.done;
      let bytes = end ? carry : join(carry, next.value);
      if (end && bytes.length) bytes = join(bytes, new Uint8Array(-bytes.length & 3));
      const whole = bytes.length & ~3; // writeBuffer takes whole words
      if (whole) this.gpu().write(buffer, at, bytes.subarray(0, whole));
      at += whole;
      carry = bytes.slice(whole);
      if (end) break;
      done += next.value.length;
      progress?.(done);
    }
    await this.gpu().device.queue.onSubmittedWorkDone();
    if (done !== size)
      throw new Error(`the source ended after ${done} of ${size} bytes at offset ${offset}`);
  }
}

/** @param {Uint8Array} a @param {Uint8Array} b @returns {Uint8Array<ArrayBuffer>} */
function join(a, b) {
  if (!a.length && b.buffer instanceof ArrayBuffer)
    return /** @type {Uint8Array<ArrayBuffer>} */ (b);
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
