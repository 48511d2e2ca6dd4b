import { Controller } from "@hotwired/stimulus"

// Where somebody was when the form was sent, so that they are there again when it has been drawn anew.
let place = ""

// A form that is sent as soon as something in it is chosen. Until the answer is there nothing else can be, so that
// nothing is chosen in vain.
export default class SubmitOnChange extends Controller<HTMLFormElement> {
  static override targets = ["button"]

  declare readonly buttonTarget: HTMLButtonElement

  override connect(): void {
    this.buttonTarget.hidden = true
    if (place && document.activeElement === document.body) this.placeInForm()?.focus()
  }

  save(): void {
    if (!this.element.reportValidity()) return
    place = document.activeElement?.id ?? ""
    this.element.requestSubmit()
    this.element.inert = true
  }

  // The answer draws the form anew; where none came, what was chosen is still there.
  answered(): void {
    this.element.inert = false
  }

  private placeInForm(): HTMLElement | undefined {
    const found = document.getElementById(place)
    return found && this.element.contains(found) ? found : undefined
  }
}
