import { Controller } from "@hotwired/stimulus"

// A provider that was just added is asked for its models at once; the answer fills the list below the field.
export default class ModelPicker extends Controller<HTMLFormElement> {
  static override targets = ["list"]
  static override values = { auto: Boolean }

  declare readonly listTarget: HTMLButtonElement
  declare autoValue: boolean

  override connect(): void {
    if (!this.autoValue) return
    this.autoValue = false
    this.element.requestSubmit(this.listTarget)
  }
}
