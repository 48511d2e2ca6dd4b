import { Controller } from "@hotwired/stimulus"
import { isAnythingUnsaved } from "../unsaved"

// Asks before a tab is closed with something in it that is not saved. Going from page to page needs no question: what is
// on its way goes on.
export default class ConfirmLeave extends Controller {
  ask(event: BeforeUnloadEvent): void {
    if (isAnythingUnsaved()) event.preventDefault()
  }
}
