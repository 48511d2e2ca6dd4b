import { navigator } from "@hotwired/turbo"
import { _ } from "./language"
import { showProblem } from "./problem"
import { isTimeout } from "./request_limit"

type FetchRequestError = CustomEvent<{ error: Error }>

// A form whose answer never came, or cannot be shown, says so. The server's own sentences come as streams or pages.
const SHOWN = ["text/vnd.turbo-stream.html", "text/html"]

const timedOut = new WeakMap<EventTarget, string>()

export function reportLostSubmissions(): void {
  document.addEventListener("turbo:submit-end", (event) => {
    const { success, fetchResponse } = (event as TurboSubmitEndEvent).detail
    if (success || !event.target) return
    const response = fetchResponse?.response
    const late = timedOut.get(event.target)
    timedOut.delete(event.target)
    if (late) {
      showProblem(_("{problem} Your text is kept. Try again.", { problem: late }), event.target)
    } else if (!response) {
      showProblem(_("The server did not answer. Your text is kept. Try again in a moment."), event.target)
    } else if (!SHOWN.some((type) => response.headers.get("Content-Type")?.startsWith(type))) {
      const status = String(response.status)
      showProblem(_("The request failed (status {status}). Your text is kept. Try again.", { status }), event.target)
    }
  })
  keepConsoleQuiet()
}

// The person has been told, or finds the link to older messages still there; Turbo would also throw the error at nobody.
function keepConsoleQuiet(): void {
  const told = new WeakSet<Error>()
  document.addEventListener("turbo:fetch-request-error", (event) => {
    const { error } = (event as FetchRequestError).detail
    if (!(event.target instanceof Element)) return
    if (isTimeout(error)) reportTimeout(event.target, error)
    else if (!event.target.matches("form, turbo-frame")) return
    event.preventDefault()
    told.add(error)
  })
  addEventListener("unhandledrejection", (event) => {
    if (event.reason instanceof Error && told.has(event.reason)) event.preventDefault()
  })
}

function reportTimeout(target: Element, error: DOMException): void {
  if (target.matches("form")) {
    timedOut.set(target, error.message)
    return
  }
  // Turbo would go to the page without itself, and wait for the same server once more.
  if (target === document.documentElement) navigator.currentVisit?.fail()
  showProblem(_("{problem} Try again.", { problem: error.message }), target)
}
