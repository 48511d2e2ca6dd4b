import { _ } from "./language"

const MILLION = 1_000_000

// Bytes as people read them.
export function megabytes(bytes: number): string {
  if (bytes < MILLION) return _("{size} kB", { size: Math.ceil(bytes / 1000) })
  return _("{size} MB", { size: Math.round((bytes / MILLION) * 10) / 10 })
}
