import { Controller } from "@hotwired/stimulus"
import { isTyping } from "../typing_place"

// ? tells which keys there are, unless somebody writes one.
export default class Help extends Controller<HTMLDialogElement> {
  open(event: KeyboardEvent): void {
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
    if (document.querySelector("dialog[open]")) return
    event.preventDefault()
    this.element.showModal()
  }

  key(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.isComposing) return
    // Taken here, so that it does not also stop a reply behind the help.
    event.preventDefault()
    this.element.close()
  }

  leave(event: MouseEvent): void {
    if (event.target === this.element) this.element.close()
  }
}
