import { showProblem } from "./problem"

type FetchRequestError = CustomEvent<{ error: Error }>

// A form whose answer never came, or cannot be shown, says so. The server's own sentences come as streams or pages.
const SHOWN = ["text/vnd.turbo-stream.html", "text/html"]

export function reportLostSubmissions(): void {
  document.addEventListener("turbo:submit-end", (event) => {
    const { success, fetchResponse } = (event as TurboSubmitEndEvent).detail
    if (success) return
    const response = fetchResponse?.response
    if (!response) {
      showProblem("The server did not answer. Your words are still here; try again in a moment.", event.target)
    } else if (!SHOWN.some((type) => response.headers.get("Content-Type")?.startsWith(type))) {
      showProblem(`The server could not do that (${response.status}). Your words are still here; try again.`, event.target)
    }
  })
  keepConsoleQuiet()
}

// The person has been told, or finds the link to older messages still there; Turbo would also throw the error at nobody.
function keepConsoleQuiet(): void {
  const told = new WeakSet<Error>()
  document.addEventListener("turbo:fetch-request-error", (event) => {
    if (!(event.target instanceof Element) || !event.target.matches("form, turbo-frame")) return
    event.preventDefault()
    told.add((event as FetchRequestError).detail.error)
  })
  addEventListener("unhandledrejection", (event) => {
    if (event.reason instanceof Error && told.has(event.reason)) event.preventDefault()
  })
}
