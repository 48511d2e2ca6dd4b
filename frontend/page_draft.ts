import { forget, load, save } from "./storage"

export type DraftField = [name: string, value: string]

// What stands in the boxes of a form that was not saved yet, and which version it was filled in from.
export interface PageDraft {
  version: string
  fields: DraftField[]
}

export function loadPageDraft(address: string): PageDraft | null {
  try {
    const draft = JSON.parse(load(key(address)) ?? "null") as PageDraft | null
    if (!draft) return null
    // Earlier releases have kept one value for each name.
    return { version: draft.version, fields: Array.isArray(draft.fields) ? draft.fields : Object.entries(draft.fields) }
  } catch {
    return null
  }
}

export function savePageDraft(address: string, draft: PageDraft): void {
  save(key(address), JSON.stringify(draft))
}

export function forgetPageDraft(address: string): void {
  forget(key(address))
}

function key(address: string): string {
  return `tavernkit:page:${address}`
}
