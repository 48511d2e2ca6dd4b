import { Controller } from "@hotwired/stimulus"

const PAUSE_MS = 300

// A form that changes nothing, and is asked again whenever somebody pauses while typing.
export default class LiveForm extends Controller<HTMLFormElement> {
  private timer = 0

  changed(event: InputEvent): void {
    clearTimeout(this.timer)
    if (event.isComposing) return
    this.timer = setTimeout(() => {
      this.element.requestSubmit()
    }, PAUSE_MS)
  }

  override disconnect(): void {
    clearTimeout(this.timer)
  }
}
