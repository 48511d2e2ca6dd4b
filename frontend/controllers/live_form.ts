import { Controller } from "@hotwired/stimulus"

const PAUSE_MS = 300
const SUBMISSIONS = ["turbo:submit-start", "turbo:submit-end"]

// A form that changes nothing, and is asked again whenever somebody pauses while typing. It can be about another form
// of the page, whose boxes it then sends as well.
export default class LiveForm extends Controller<HTMLFormElement> {
  static override values = { with: String }

  declare readonly withValue: string

  private timer = 0
  private isSaving = false
  private readonly typedElsewhere = (event: Event): void => this.changed(event)
  private readonly saving = (event: Event): void => {
    this.isSaving = event.type === "turbo:submit-start"
  }

  override connect(): void {
    this.other?.addEventListener("input", this.typedElsewhere)
    for (const type of SUBMISSIONS) this.other?.addEventListener(type, this.saving)
  }

  override disconnect(): void {
    clearTimeout(this.timer)
    this.other?.removeEventListener("input", this.typedElsewhere)
    for (const type of SUBMISSIONS) this.other?.removeEventListener(type, this.saving)
  }

  changed(event: Event): void {
    clearTimeout(this.timer)
    if (event instanceof InputEvent && event.isComposing) return
    this.wait()
  }

  // Turbo sends one form at a time: this one would take the place of one that is being saved, whose answer is then lost.
  private wait(): void {
    this.timer = setTimeout(() => {
      if (this.isSaving) this.wait()
      else this.element.requestSubmit()
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
