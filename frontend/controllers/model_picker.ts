import { Controller } from "@hotwired/stimulus"

// A provider that was just added is asked for its models at once; the answer fills the list below the field. Whoever
// types meanwhile is not disturbed: the answer would take the place of what they type.
export default class ModelPicker extends Controller<HTMLFormElement> {
  static override targets = ["list"]
  static override values = { auto: Boolean }

  declare readonly listTarget: HTMLButtonElement
  declare autoValue: boolean

  override connect(): void {
    if (!this.autoValue) return
    this.autoValue = false
    const stopsWhenTyping = (event: TurboSubmitStartEvent): void => {
      const stop = (): void => event.detail.formSubmission.stop()
      this.element.addEventListener("input", stop, { once: true })
    }
    this.element.addEventListener("turbo:submit-start", stopsWhenTyping, { once: true })
    this.element.requestSubmit(this.listTarget)
  }
}
