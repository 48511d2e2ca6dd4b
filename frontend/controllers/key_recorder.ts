import { Controller } from "@hotwired/stimulus"
import { isComposing, pressed } from "../keys"
import { _ } from "../language"

// The next key that is pressed becomes that of a shortcut; Escape leaves it as it is.
export default class KeyRecorder extends Controller<HTMLFormElement> {
  static override targets = ["key", "button"]

  declare readonly keyTarget: HTMLInputElement
  declare readonly buttonTarget: HTMLButtonElement

  private label = ""

  override disconnect(): void {
    removeEventListener("keydown", this.take, true)
  }

  record(): void {
    if (this.label !== "") return this.cancel()
    this.label = this.buttonTarget.textContent ?? ""
    this.buttonTarget.textContent = _("Press a key")
    // Safari leaves a button that is clicked without the focus.
    this.buttonTarget.focus()
    addEventListener("keydown", this.take, true)
  }

  cancel(): void {
    if (this.label === "") return
    removeEventListener("keydown", this.take, true)
    this.buttonTarget.textContent = this.label
    this.label = ""
  }

  // Before anybody else: the key must do nothing but be recorded.
  private readonly take = (event: KeyboardEvent): void => {
    if (isComposing(event)) return
    const key = pressed(event)
    // Tab leaves the button, and so cancels.
    if (key === "Tab" || key === "Shift+Tab") return
    event.preventDefault()
    event.stopImmediatePropagation()
    if (key === "" || event.repeat) return
    this.cancel()
    if (key === "Escape") return
    this.keyTarget.value = key
    this.element.requestSubmit()
  }
}
