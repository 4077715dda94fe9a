// Asking the browser for an adapter and a device, and telling what they can do.

const LIMITS = /** @type {const} */ ([
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupsPerDimension",
]);
const MATRIX = /** @type {GPUFeatureName} */ ("chromium-experimental-subgroup-matrix");
const FEATURES = /** @type {GPUFeatureName[]} */ ([
  "timestamp-query",
  "shader-f16",
  "subgroups",
  MATRIX,
]);

/** @param {GPURequestAdapterOptions} options */
export async function openDevice(options) {
  if (!navigator.gpu)
    throw new Error(
      "this browser has no WebGPU (navigator.gpu); use Chrome or Edge 113+, Safari 26+ or " +
        "Firefox 141+, over https or localhost",
    );
  const adapter = await navigator.gpu.requestAdapter(options);
  if (!adapter)
    throw new Error(
      "this browser has no adapter; check that WebGPU and graphics acceleration are enabled, " +
        "then reload the page",
    );
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
  const requiredFeatures = FEATURES.filter((name) => adapter.features.has(name));
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
  return { adapter, device };
}

/** @param {GPUAdapter} adapter */
function hasSubgroupsOf32(adapter) {
  const info = /** @type {any} */ (adapter.info);
  return info.subgroupMinSize === 32 && info.subgroupMaxSize === 32;
}

/** Whether subgroups of 32 multiply 16 x 16 f16 matrices into f32. Chromium lists an adapter's
 * configurations to developers only; without the list NVIDIA's are known to have it.
 * @param {GPUAdapter} adapter @param {GPUDevice} device */
function multipliesMatrices(adapter, device) {
  const info = /** @type {any} */ (adapter.info);
  const listed = info.subgroupMatrixConfigs && [...info.subgroupMatrixConfigs];
  const offered = listed?.some(
    (/** @type {any} */ c) =>
      [c.M, c.N, c.K].every((size) => size === 16) &&
      c.componentType === "f16" &&
      c.resultComponentType === "f32",
  );
  const has = FEATURES.slice(1).every((name) => device.features.has(name));
  return Boolean(has && hasSubgroupsOf32(adapter) && (listed ? offered : info.vendor === "nvidia"));
}

/** @param {GPUAdapter} adapter @param {GPUDevice} device */
export function describe(adapter, device) {
  const { vendor, architecture, description } = adapter.info;
  const fallback = Boolean(/** @type {any} */ (adapter.info).isFallbackAdapter);
  const limits = Object.fromEntries(LIMITS.map((name) => [name, device.limits[name]]));
  const features = [...device.features];
  const language = [...(navigator.gpu.wgslLanguageFeatures ?? [])];
  const matrix = multipliesMatrices(adapter, device);
  const subgroups = features.includes("subgroups") && hasSubgroupsOf32(adapter);
  return {
    vendor,
    architecture,
    description,
    fallback,
    features,
    language,
    limits,
    subgroups,
    matrix,
  };
}
