// Records of eight u32: resolved once to objects, then encoded in one loop.

const DISPATCH = 0;
const COPY = 1;

/**
 * @typedef {{pipelines: {pipeline: GPUComputePipeline}[], groups: (GPUBindGroup | null)[][],
 *   pool: {get(id: number): GPUBuffer}, device: GPUDevice, dispatches: number}} Tables
 */

/** Ids to objects. @param {Tables} tables @param {Uint8Array} bytes @param {GPUBindGroup} frame */
export function resolve(tables, bytes, frame) {
  const words = new Uint32Array(bytes.slice().buffer);
  const count = words.length / 8;
  /** @type {any[]} */
  const a = new Array(count);
  /** @type {any[]} */
  const b = new Array(count);
  for (let i = 0; i < count; i++) {
    const [verb, first, second] = words.subarray(8 * i, 8 * i + 3);
    if (verb === DISPATCH) {
      a[i] = tables.pipelines[first].pipeline;
      b[i] = tables.groups[second];
    } else {
      a[i] = tables.pool.get(first);
      b[i] = verb === COPY ? tables.pool.get(second) : null;
    }
  }
  return {
    words,
    count,
    a,
    b,
    frame,
    step: /** @type {GPUBuffer | null} */ (null),
    owned: /** @type {GPUBuffer[]} */ ([]),
  };
}

/** One command buffer; consecutive dispatches share a pass.
 * @param {Tables} tables @param {ReturnType<typeof resolve>} plan */
export function encode(tables, plan) {
  const { words, count, a, b, frame } = plan;
  const encoder = tables.device.createCommandEncoder();
  const offset = new Uint32Array(1);
  /** @type {GPUComputePassEncoder | null} */
  let pass = null;
  let pipeline = null;
  for (let i = 0, w = 0; i < count; i++, w += 8) {
    if (words[w] !== DISPATCH) {
      pass?.end();
      pass = pipeline = null;
      if (words[w] === COPY)
        encoder.copyBufferToBuffer(a[i], words[w + 3], b[i], words[w + 4], words[w + 5]);
      else encoder.clearBuffer(a[i], words[w + 2], words[w + 3]);
      continue;
    }
    pass ??= encoder.beginComputePass();
    if (pipeline !== a[i]) pass.setPipeline((pipeline = a[i]));
    pass.setBindGroup(0, b[i][0]);
    offset[0] = words[w + 3];
    pass.setBindGroup(1, frame, offset, 0, 1);
    if (b[i][1]) pass.setBindGroup(2, b[i][1]);
    pass.dispatchWorkgroups(words[w + 4], words[w + 5], words[w + 6]);
  }
  pass?.end();
  tables.dispatches += count;
  return encoder.finish();
}
