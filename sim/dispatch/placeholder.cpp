// Placeholder until this layer's sources land.
