import { Controller } from "@hotwired/stimulus"
import { isKeyOf } from "../keys"
import { limitedFetch } from "../request_limit"

// A key stops whoever is writing. It asks the server itself: Turbo carries out one form at a time, and a stop that
// comes while another answer is on its way could be dropped. The page learns of the end through its events.
export default class StopKey extends Controller {
  press(event: KeyboardEvent): void {
    if (event.defaultPrevented || !isKeyOf("stop", event)) return
    // What is open in front of the story is closed first.
    if (document.querySelector("dialog[open], :popover-open")) return
    const form = document.getElementById("stop_form")
    if (!(form instanceof HTMLFormElement)) return
    event.preventDefault()
    limitedFetch(form.action, { method: "POST", headers: { Accept: "text/vnd.turbo-stream.html" } }).catch(() => {
      form.requestSubmit()
    })
  }
}
