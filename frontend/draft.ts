import { forget, load, save, storedKeys } from "./storage"

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
  // What the offline page needs to know of it.
  title?: string | undefined
  account?: string | undefined
}

export interface UnsentDraft {
  conversation: string
  title: string
  text: string
}

const PREFIX = "tavernkit:draft:"
// Whose drafts the offline page shows; nobody's when somebody has signed out on a computer that others use too.
const ACCOUNT_KEY = "tavernkit:account"

export function loadDraft(conversation: string): Draft {
  try {
    const draft = JSON.parse(load(key(conversation)) ?? "{}") as Partial<Draft>
    return { ...draft, text: draft.text ?? "" }
  } catch {
    return { text: "" }
  }
}

export function saveDraft(conversation: string, draft: Draft): void {
  if (draft.text === "" && !draft.attempt) forget(key(conversation))
  else save(key(conversation), JSON.stringify(draft))
}

export function setDraftOwner(account: string): void {
  if (account) save(ACCOUNT_KEY, account)
  else forget(ACCOUNT_KEY)
}

export function unsentDrafts(): UnsentDraft[] {
  const owner = load(ACCOUNT_KEY)
  if (!owner) return []
  return storedKeys()
    .filter((key) => key.startsWith(PREFIX))
    .map((key) => ({ conversation: key.slice(PREFIX.length), ...loadDraft(key.slice(PREFIX.length)) }))
    .filter(({ account, text }) => account === owner && text.trim() !== "")
    .map(({ conversation, title, text }) => ({ conversation, title: title ?? "", text }))
}

function key(conversation: string): string {
  return PREFIX + conversation
}
