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
  const wanted = /** @type {GPUFeatureName[]} */ (["timestamp-query", "shader-f16", "subgroups"]);
  const requiredFeatures = wanted.filter((name) => adapter.features.has(name));
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
  return { adapter, device };
}

/** @param {GPUAdapter} adapter @param {GPUDevice} device */
export function describe(adapter, device) {
  const { vendor, architecture, description } = adapter.info;
  const fallback = Boolean(/** @type {any} */ (adapter.info).isFallbackAdapter);
  const limits = Object.fromEntries(LIMITS.map((name) => [name, device.limits[name]]));
  const features = [...device.features];
  const language = [...(navigator.gpu.wgslLanguageFeatures ?? [])];
  return { vendor, architecture, description, fallback, features, language, limits };
}
