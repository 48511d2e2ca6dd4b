import { Controller } from "@hotwired/stimulus"

const PAUSE_MS = 300

// A form that changes nothing, and is asked again whenever somebody pauses while typing. It can be about another form
// of the page, whose boxes it then sends as well.
export default class LiveForm extends Controller<HTMLFormElement> {
  static override values = { with: String }

  declare readonly withValue: string

  private timer = 0
  private readonly typedElsewhere = (event: Event): void => this.changed(event)

  override connect(): void {
    this.other?.addEventListener("input", this.typedElsewhere)
  }

  override disconnect(): void {
    clearTimeout(this.timer)
    this.other?.removeEventListener("input", this.typedElsewhere)
  }

  changed(event: Event): void {
    clearTimeout(this.timer)
    if (event instanceof InputEvent && event.isComposing) return
    this.timer = setTimeout(() => {
      this.element.requestSubmit()
    }, PAUSE_MS)
  }

  complete(event: FormDataEvent): void {
    if (!this.other) return
    for (const [name, value] of new FormData(this.other)) event.formData.append(name, value)
  }

  private get other(): HTMLFormElement | null {
    const found = this.withValue ? document.getElementById(this.withValue) : null
    return found instanceof HTMLFormElement ? found : null
  }
}
