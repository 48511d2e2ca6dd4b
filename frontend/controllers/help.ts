import { Controller } from "@hotwired/stimulus"
import { isComposing, isKeyOf } from "../keys"

// One key shows which keys there are.
export default class Help extends Controller<HTMLDialogElement> {
  open(event: KeyboardEvent): void {
    if (event.defaultPrevented || !isKeyOf("help", event)) return
    if (document.querySelector("dialog[open]")) return
    event.preventDefault()
    this.element.showModal()
  }

  key(event: KeyboardEvent): void {
    if (event.key !== "Escape" || isComposing(event)) return
    // Taken here, so that it does not also stop a reply behind the help.
    event.preventDefault()
    this.element.close()
  }

  leave(event: MouseEvent): void {
    if (event.target === this.element) this.element.close()
  }
}
