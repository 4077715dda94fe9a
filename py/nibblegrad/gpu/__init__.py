"""Two devices behind the same verbs: host runs an op's numpy body, webgpu its kernel."""
