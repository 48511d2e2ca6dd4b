import { forget, load, save } from "./storage"

// What was handed to the server under which id. The same words and pictures keep their id, so that trying again never
// says them twice.
interface Attempt {
  id: string
  text: string
  pictures: string[]
}

export interface Draft {
  text: string
  attempt?: Attempt | undefined
}

export function loadDraft(conversation: string): Draft {
  try {
    const draft = JSON.parse(load(key(conversation)) ?? "{}") as Partial<Draft>
    return { text: draft.text ?? "", attempt: draft.attempt }
  } catch {
    return { text: "" }
  }
}

export function saveDraft(conversation: string, draft: Draft): void {
  if (draft.text === "" && !draft.attempt) forget(key(conversation))
  else save(key(conversation), JSON.stringify(draft))
}

function key(conversation: string): string {
  return `tavernkit:draft:${conversation}`
}
