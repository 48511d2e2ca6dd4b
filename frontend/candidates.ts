// What has been suggested so far, by job: a suggestion may come before the list that shows it, and the list may be drawn anew.
export interface Candidate {
  job: string
  index: number
  text?: string
  error?: string
}

const received = new Map<string, Map<number, Candidate>>()

export function remember(candidate: Candidate): void {
  const known = received.get(candidate.job)
  if (known) {
    known.set(candidate.index, candidate)
  } else {
    // Only one list at a time is shown; who asks again has done with the last.
    received.clear()
    received.set(candidate.job, new Map([[candidate.index, candidate]]))
  }
}

export function remembered(job: string): Candidate[] {
  return [...(received.get(job)?.values() ?? [])]
}
