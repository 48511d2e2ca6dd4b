import { Controller } from "@hotwired/stimulus"

const PAUSE_MS = 300

// Tries a script while it is written: the form of the test sends the boxes of the script along, saved or not.
export default class ScriptTest extends Controller<HTMLElement> {
  static override targets = ["script", "test"]

  declare readonly scriptTarget: HTMLFormElement
  declare readonly testTarget: HTMLFormElement

  private timer = 0

  changed(event: Event): void {
    clearTimeout(this.timer)
    if (event instanceof InputEvent && event.isComposing) return
    const tried = new FormData(this.testTarget)
    if (!tried.get("text") && !tried.get("conversation_id")) return
    this.timer = setTimeout(() => {
      this.testTarget.requestSubmit()
    }, PAUSE_MS)
  }

  join(event: FormDataEvent): void {
    for (const name of [...event.formData.keys()]) if (this.scriptTarget.elements.namedItem(name)) event.formData.delete(name)
    for (const [name, value] of new FormData(this.scriptTarget)) event.formData.set(name, value)
  }

  override disconnect(): void {
    clearTimeout(this.timer)
  }
}
