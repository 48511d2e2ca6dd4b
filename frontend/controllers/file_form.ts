import { Controller } from "@hotwired/stimulus"

// Files that are chosen, or dropped on the box, are sent at once; the button is for browsers without scripts.
export default class FileForm extends Controller<HTMLFormElement> {
  static override targets = ["button"]

  declare readonly buttonTarget: HTMLButtonElement

  override connect(): void {
    this.buttonTarget.hidden = true
  }

  send(): void {
    this.element.setAttribute("aria-busy", "true")
    this.element.requestSubmit()
  }

  // Emptied, so that the same file can be chosen again after it was mended.
  answered(): void {
    this.element.removeAttribute("aria-busy")
    this.element.reset()
  }
}
