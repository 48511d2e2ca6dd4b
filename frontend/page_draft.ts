import { forget, load, save } from "./storage"

// What stands in the boxes of a form that was not saved yet, and which version it was filled in from.
export interface PageDraft {
  version: string
  fields: Record<string, string>
}

export function loadPageDraft(address: string): PageDraft | null {
  try {
    const draft = JSON.parse(load(key(address)) ?? "null") as Partial<PageDraft> | null
    return draft ? { version: draft.version ?? "", fields: draft.fields ?? {} } : null
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
