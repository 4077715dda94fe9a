// GPU time of what this thread encodes, ours and a peer's alike: a timestamp at both ends of each
// compute pass, put there by wrapping the WebGPU classes. Knows no ops and no library.

const EACH = 4096; // queries a set may have
let on = false;
let dispatches = 0;
/** What a device said of calls it did not take. @type {string[]} */
const errors = [];
/** @type {Map<GPUDevice, {sets: GPUQuerySet[], count: number}>} */
const devices = new Map();
/** @type {WeakMap<GPUCommandEncoder, GPUDevice>} */
const owners = new WeakMap();

const wrap = (type, name, make) => {
  const { prototype } = type;
  prototype[name] = make(prototype[name]);
};
wrap(GPUAdapter, "requestDevice", (request) =>
  async function (options = {}) {
    const features = new Set(options.requiredFeatures ?? []);
    if (this.features.has("timestamp-query")) features.add("timestamp-query");
    const device = await request.call(this, { ...options, requiredFeatures: [...features] });
    devices.set(device, { sets: [], count: 0 });
    device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
    return device;
  });
wrap(GPUDevice, "createCommandEncoder", (create) =>
  function (options) {
    const encoder = create.call(this, options);
    owners.set(encoder, this);
    return encoder;
  });
wrap(GPUCommandEncoder, "beginComputePass", (begin) =>
  function (options = {}) {
    const timed = on && !options.timestampWrites && stamp(owners.get(this));
    return begin.call(this, timed ? { ...options, timestampWrites: timed } : options);
  });
wrap(GPUComputePassEncoder, "dispatchWorkgroups", (dispatch) =>
  function (...sizes) {
    dispatches++;
    dispatch.apply(this, sizes);
  });

/** Where the next pass writes, or nothing on a device that cannot. @param {GPUDevice} device */
function stamp(device) {
  const known = devices.get(device);
  if (!known || !device.features.has("timestamp-query")) return null;
  const at = known.count % EACH;
  if (known.sets.length * EACH <= known.count)
    known.sets.push(device.createQuerySet({ type: "timestamp", count: EACH }));
  known.count += 2;
  return {
    querySet: known.sets[Math.floor((known.count - 2) / EACH)],
    beginningOfPassWriteIndex: at,
    endOfPassWriteIndex: at + 1,
  };
}

/** The stamps of a device since start, as nanoseconds. */
async function stamps(device, { sets, count }) {
  const size = 8 * EACH;
  const resolved = device.createBuffer({ size, usage: 0x0200 | 0x0004 }); // QUERY_RESOLVE, COPY_SRC
  const staging = device.createBuffer({ size: 8 * count, usage: 0x0001 | 0x0008 });
  const encoder = device.createCommandEncoder();
  for (let i = 0; i * EACH < count; i++) {
    const left = Math.min(EACH, count - i * EACH);
    encoder.resolveQuerySet(sets[i], 0, left, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, staging, i * size, 8 * left);
  }
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  const found = new BigUint64Array(staging.getMappedRange().slice(0));
  staging.destroy();
  resolved.destroy();
  return found;
}

export function start() {
  for (const known of devices.values()) known.count = 0;
  dispatches = 0;
  on = true;
}

/** Until every device has done what was queued. */
export async function idle() {
  for (const device of devices.keys()) await device.queue.onSubmittedWorkDone();
}

/** Waits for all; JSON {ms: the passes' times added up, or null without timestamps, passes, dispatches}. */
export async function stop() {
  on = false;
  const counted = dispatches;
  let ns = 0n;
  let passes = 0;
  for (const [device, known] of devices) {
    if (!known.count) continue;
    const found = await stamps(device, known);
    passes += known.count / 2;
    for (let i = 0; i < found.length; i += 2)
      if (found[i + 1] > found[i]) ns += found[i + 1] - found[i];
  }
  return JSON.stringify({ ms: passes ? Number(ns) / 1e6 : null, passes, dispatches: counted });
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** Times a peer's task as ours are timed: `run()` queues one, `done()` waits for all queued.
 * @param {{run(): any, done(): Promise<any>}} task
 * @param {{warm: number, target: number, runs: number, most: number}} how ms, ms, counts
 * @returns JSON {gpu_ms, wall_ms, dispatches} of one run */
export async function measure(task, { warm, target, runs, most }) {
  errors.length = 0;
  await task.run();
  await task.done(); // compiled
  let began = performance.now();
  await task.run();
  await task.done();
  const once = Math.max(0.01, performance.now() - began);
  const count = Math.max(1, Math.min(most, Math.ceil(target / once)));
  const gpu = [];
  const wall = [];
  let each = 0;
  for (let r = 0; r < runs; r++) {
    for (const end = performance.now() + warm; performance.now() < end;) {
      for (let i = 0; i < count; i++) await task.run();
      await task.done();
    }
    start();
    began = performance.now();
    for (let i = 0; i < count; i++) await task.run();
    await task.done();
    wall.push((performance.now() - began) / count);
    const found = JSON.parse(await stop());
    each = found.dispatches / count;
    if (found.ms !== null) gpu.push(found.ms / count);
  }
  if (errors.length) throw new Error(errors[0]);
  const gpu_ms = gpu.length ? median(gpu) : null;
  return JSON.stringify({ gpu_ms, wall_ms: median(wall), dispatches: each, repeats: count });
}
