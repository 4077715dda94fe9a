// onnxruntime-web on WebGPU: MatMul, and MatMulNBits of 32 to a block, in f32 and by its int8 route.
import * as ort from "onnxruntime-web/webgpu";
import { checkProduct, numbers } from "./common.js";
import { model } from "./onnx.js";

const VARIANTS = { matmul: ["ort"], q4: ["ort", "ort int8"] };
const [FLOAT, UINT8] = [1, 2];

/** @param {string} json where every file is, by name */
export async function open(json) {
  const urls = JSON.parse(json);
  const place = (end) => new URL(urls[`ort-wasm-simd-threaded.asyncify${end}`], self.location.origin).href;
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = { mjs: place(".mjs"), wasm: place(".wasm") };
  ort.env.logLevel = "error";
  const { session } = await product(1, 32, 4, numbers(128, 1));
  await session.release();
}

export const variants = (/** @type {string} */ workload) =>
  JSON.stringify(VARIANTS[workload] ?? []);

const create = (bytes) => ort.InferenceSession.create(bytes, { executionProviders: ["webgpu"] });

/** A buffer of ort's device as a tensor. @param {number[]} dims @param {Float32Array} [values] */
async function tensor(dims, values) {
  const device = await ort.env.webgpu.device;
  const size = 4 * dims.reduce((a, b) => a * b, 1);
  const usage = 0x0080 | 0x0008 | 0x0004; // STORAGE, COPY_DST, COPY_SRC
  const buffer = device.createBuffer({ size: Math.ceil(size / 16) * 16, usage });
  if (values) device.queue.writeBuffer(buffer, 0, values);
  const made = ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims });
  return { made, buffer };
}

async function product(m, k, n) {
  const node = { op: "MatMul", inputs: ["a", "b"], attributes: {} };
  const inputs = { a: [m, k], b: [k, n] };
  return { session: await create(model(node, inputs, [m, n], [])) };
}

/** Runs, checks the first row's start, and gives the task. */
async function task(session, feeds, m, n, check) {
  const y = await tensor([m, n]);
  const tensors = Object.fromEntries(Object.entries(feeds).map(([name, { made }]) => [name, made]));
  const run = () => session.run(tensors, { y: y.made });
  await run();
  const device = await ort.env.webgpu.device;
  const staging = device.createBuffer({ size: 32, usage: 0x0001 | 0x0008 });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(y.buffer, 0, staging, 0, 32);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  const first = new Float32Array(staging.getMappedRange().slice(0));
  staging.destroy();
  const free = () => {
    for (const { buffer } of [...Object.values(feeds), y]) buffer.destroy();
    session.release();
  };
  try {
    check(first);
  } catch (error) {
    free();
    throw error;
  }
  return { run, done: () => device.queue.onSubmittedWorkDone(), free };
}

async function matmul(_, m, k, n) {
  const [x, w] = [numbers(m * k, 1), numbers(k * n, 2)];
  const { session } = await product(m, k, n);
  const feeds = { a: await tensor([m, k], x), b: await tensor([k, n], w) };
  const check = (first) => checkProduct(first, x.subarray(0, k), (i, j) => w[i * n + j], 1e-4);
  return task(session, feeds, m, n, check);
}

async function q4(variant, m, k, n) {
  const x = numbers(m * k, 1);
  const codes = new Uint8Array((n * k) / 2).map((_, i) => (i * 7919) >> 3);
  const scales = new Float32Array((n * k) / 32).fill(0.01);
  const int8 = variant.endsWith("int8");
  const attributes = { K: k, N: n, bits: 4, block_size: 32, accuracy_level: int8 ? 4 : 0 };
  const node = { op: "MatMulNBits", domain: "com.microsoft", inputs: ["a", "b", "s"], attributes };
  const stored = [
    { name: "b", type: UINT8, dims: [n, k / 32, 16], bytes: codes },
    { name: "s", type: FLOAT, dims: [scales.length], bytes: new Uint8Array(scales.buffer) },
  ];
  const session = await create(model(node, { a: [m, k] }, [m, n], stored));
  const at = (i, j) => (((codes[(j * k + i) >> 1] >> (i % 2 ? 4 : 0)) & 15) - 8) * 0.01;
  const check = (first) => checkProduct(first, x.subarray(0, k), at, int8 ? 0.05 : 1e-4);
  return task(session, { a: await tensor([m, k], x) }, m, n, check);
}

/** @param {string} variant @param {string} json a workload and its sizes */
export function make(variant, json) {
  const [workload, ...sizes] = JSON.parse(json);
  return { matmul, q4 }[workload](variant, ...sizes);
}
