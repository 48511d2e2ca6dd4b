import { ngettext } from "./language"

const USUAL_SECONDS = 30
// Files may be large and connections slow.
const UPLOAD_SECONDS = 1_800

type BeforeFetch = CustomEvent<{ fetchOptions: RequestInit }>

// Every request that Turbo makes ends by itself; `lost_submissions.ts` says so.
export function limitRequests(): void {
  document.addEventListener("turbo:before-fetch-request", (event) => {
    const { fetchOptions } = (event as BeforeFetch).detail
    fetchOptions.signal = limited(fetchOptions.signal, secondsFor(event.target))
  })
}

// The same for requests that a controller makes itself: it is told as if there were no server.
export function limitedFetch(address: string, options: RequestInit = {}): Promise<Response> {
  return fetch(address, { ...options, signal: limited(options.signal, secondsFor(document.documentElement)) })
}

export function isTimeout(error: unknown): error is DOMException {
  return error instanceof DOMException && error.name === "TimeoutError"
}

function limited(signal: AbortSignal | null | undefined, seconds: number): AbortSignal {
  const limit = new AbortController()
  const sentence = ngettext(
    "The server did not answer within {count} second.",
    "The server did not answer within {count} seconds.",
    seconds,
  )
  setTimeout(() => limit.abort(new DOMException(sentence, "TimeoutError")), seconds * 1_000)
  signal?.addEventListener("abort", () => limit.abort(signal.reason))
  return limit.signal
}

// A part of the page, or all of it, may set a limit of its own.
function secondsFor(target: EventTarget | null): number {
  const own = target instanceof Element && target.closest<HTMLElement>("[data-request-seconds]")?.dataset.requestSeconds
  if (own) return Number(own)
  const uploads = target instanceof HTMLFormElement && target.enctype === "multipart/form-data"
  return uploads ? UPLOAD_SECONDS : USUAL_SECONDS
}
