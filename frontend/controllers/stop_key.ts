import { Controller } from "@hotwired/stimulus"

// Escape stops whoever is writing.
export default class StopKey extends Controller {
  press(event: KeyboardEvent): void {
    if (event.isComposing || event.defaultPrevented) return
    const form = document.getElementById("stop_form")
    if (!(form instanceof HTMLFormElement)) return
    event.preventDefault()
    form.requestSubmit()
  }
}
