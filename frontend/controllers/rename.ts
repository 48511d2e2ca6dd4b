import { Controller } from "@hotwired/stimulus"

// A name that has turned into a form: Escape turns it back.
export default class Rename extends Controller<HTMLFormElement> {
  static override targets = ["cancel"]

  declare readonly cancelTarget: HTMLAnchorElement

  cancel(event: KeyboardEvent): void {
    if (event.isComposing) return
    event.preventDefault()
    event.stopPropagation()
    this.cancelTarget.click()
  }
}
