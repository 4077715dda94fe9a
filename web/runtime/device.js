// One GPUDevice: pipelines, bind groups, submits, reads; its errors and its loss are remembered.
import { describe } from "./adapter.js";
import { encode, resolve } from "./plan.js";
import { Pool } from "./pool.js";

const MAX_GROUPS = 16384;
const STEP_BYTES = 256;

export class Gpu {
  /** @param {GPUAdapter} adapter @param {GPUDevice} device */
  constructor(adapter, device) {
    this.device = device;
    this.info = describe(adapter, device);
    this.pool = new Pool(device, (message) => this.fail(message));
    /** @type {{pipeline: GPUComputePipeline, layouts: GPUBindGroupLayout[], counts: number[]}[]} */
    this.pipelines = [];
    /** @type {Map<string, GPUBindGroupLayout>} */
    this.layouts = new Map();
    /** @type {Map<string, GPUShaderModule>} */
    this.modules = new Map();
    /** @type {(GPUBindGroup | null)[][]} */
    this.groups = [];
    /** @type {Map<number, ReturnType<typeof resolve>>} */
    this.plans = new Map();
    this.nextPlan = 1;
    this.dispatches = 0;
    this.lost = "";
    /** @type {string[]} */
    this.errors = [];
    this.step = this.uniform(STEP_BYTES);
    this.eager = this.frame(0);
    device.lost.then((info) => {
      this.lost = `the device was lost (${info.reason}): ${info.message} Reload the page`;
    });
    device.onuncapturederror = (event) => this.fail(event.error.message);
  }

  /** @param {string} message */
  fail(message) {
    if (this.errors.length < 8) this.errors.push(message);
  }

  /** Throw what went wrong since the last look. */
  check() {
    if (this.lost) throw new Error(this.lost);
    if (this.errors.length) throw new Error(this.errors.splice(0).join("; "));
  }

  /** @param {number} size */
  uniform(size) {
    return this.device.createBuffer({ size, usage: 0x0040 | 0x0008 }); // UNIFORM | COPY_DST
  }

  /** A params buffer with the bind group of group 1. @param {number} bytes @param {GPUBuffer} [step] */
  frame(bytes, step = this.step) {
    const params = this.uniform(Math.max(1024, 2 ** Math.ceil(Math.log2(bytes + 1))));
    const entries = [
      { binding: 0, resource: { buffer: params, offset: 0, size: 256 } },
      { binding: 1, resource: { buffer: step } },
    ];
    const group = this.device.createBindGroup({ layout: this.layout("uu"), entries });
    return { params, group };
  }

  /** A letter a binding: r, w storage; u uniform, the first of which has a dynamic offset. @param {string} letters */
  layout(letters) {
    const known = this.layouts.get(letters);
    if (known) return known;
    const entries = [...letters].map((letter, binding) => ({
      binding,
      visibility: 4, // COMPUTE
      buffer: /** @type {GPUBufferBindingLayout} */ (
        letter === "u"
          ? { type: "uniform", hasDynamicOffset: binding === 0 }
          : { type: letter === "w" ? "storage" : "read-only-storage" }
      ),
    }));
    const made = this.device.createBindGroupLayout({ label: letters, entries });
    this.layouts.set(letters, made);
    return made;
  }

  /** @param {string} label @param {string} code @param {string} layout @param {string} overrides */
  pipeline(label, code, layout, overrides) {
    this.check();
    const layouts = layout.split("|").map((letters) => this.layout(letters));
    let module = this.modules.get(code);
    if (!module) this.modules.set(code, (module = this.device.createShaderModule({ label, code })));
    const pipeline = this.device.createComputePipeline({
      label,
      layout: this.device.createPipelineLayout({ bindGroupLayouts: layouts }),
      compute: { module, entryPoint: "main", constants: JSON.parse(overrides) },
    });
    const counts = layout.split("|").map((letters) => letters.length);
    return this.pipelines.push({ pipeline, layouts, counts }) - 1;
  }

  /** Bind groups 0 and 2 of a dispatch. @param {number} pipeline @param {Uint8Array} bytes */
  bind(pipeline, bytes) {
    const words = new Uint32Array(bytes.slice().buffer);
    const { layouts, counts } = this.pipelines[pipeline];
    let at = 0;
    const group = (/** @type {number} */ index) => {
      const entries = Array.from({ length: counts[index] }, (_, binding) => {
        const [id, offset, size] = words.subarray(3 * at, 3 * ++at);
        return { binding, resource: { buffer: this.pool.get(id), offset, size } };
      });
      return this.device.createBindGroup({ layout: layouts[index], entries });
    };
    const first = group(0);
    return this.groups.push([first, counts[2] ? group(2) : null]) - 1;
  }

  /** Run records once. True when the bind groups were forgotten and must be made anew.
   * @param {Uint8Array} records @param {Uint8Array} params */
  submit(records, params) {
    this.check();
    if (params.length > this.eager.params.size) this.eager = this.frame(params.length);
    this.device.queue.writeBuffer(this.eager.params, 0, params, 0, params.length);
    const plan = resolve(this, records, this.eager.group);
    this.device.queue.submit([encode(this, plan)]);
    if (this.groups.length < MAX_GROUPS) return false;
    this.groups = [];
    return true;
  }

  /** @param {Uint8Array} records @param {Uint8Array} params */
  install(records, params) {
    this.check();
    const step = this.uniform(STEP_BYTES);
    const frame = this.frame(params.length, step);
    this.device.queue.writeBuffer(frame.params, 0, params, 0, params.length);
    const plan = resolve(this, records, frame.group);
    plan.step = step;
    plan.owned = [step, frame.params];
    this.plans.set(this.nextPlan, plan);
    return this.nextPlan++;
  }

  /** @param {number} id @param {Uint8Array} step */
  replay(id, step) {
    this.check();
    const plan = this.plans.get(id);
    if (!plan?.step) throw new Error(`plan ${id} is not installed`);
    this.device.queue.writeBuffer(plan.step, 0, step, 0, step.length);
    this.device.queue.submit([encode(this, plan)]);
  }

  /** @param {number} id */
  drop(id) {
    this.plans.get(id)?.owned.forEach((buffer) => buffer.destroy());
    this.plans.delete(id);
  }

  trim() {
    this.groups = [];
    this.pool.trim();
  }

  stats() {
    const { dispatches, pipelines, plans, groups } = this;
    const counts = { pipelines: pipelines.length, plans: plans.size, groups: groups.length };
    return { ...this.pool.counts, dispatches, ...counts };
  }

  /** @param {number} id @param {number} offset @param {Uint8Array} bytes */
  write(id, offset, bytes) {
    this.check();
    this.device.queue.writeBuffer(this.pool.get(id), offset, bytes, 0, bytes.length);
  }

  /** @param {number} id @param {number} offset @param {number} size */
  async read(id, offset, size) {
    this.check();
    const staging = this.device.createBuffer({ size, usage: 0x0001 | 0x0008 }); // MAP_READ | COPY_DST
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.pool.get(id), offset, staging, 0, size);
    this.device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(1);
      this.check();
      return new Uint8Array(staging.getMappedRange().slice(0));
    } catch (error) {
      await Promise.race([this.device.lost, new Promise((done) => setTimeout(done, 200))]);
      this.check();
      throw error;
    } finally {
      staging.destroy();
    }
  }
}
